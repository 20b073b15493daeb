"""Fine-tune a pre-trained regressor on a new domain (checkpoint in memory)."""
import io
import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(5, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 1))


def load_pretrained(buf):
    buf.seek(0)
    model = build()
    model.load_state_dict(torch.load(buf, weights_only=True))
    model.eval()
    return model


def domain(n, shift):
    x = torch.randn(n, 5) * (1 + shift) + shift
    return x, torch.sin(x[:, :1]) + x[:, 1:2]


def fit(model, data, epochs, lr):
    x, y = data
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    for _ in range(epochs):
        for idx in torch.randperm(len(x)).split(50):
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()


def main():
    torch.manual_seed(0)
    model = build()
    model.train()
    fit(model, domain(600, 0.0), 8, 5e-3)
    buf = io.BytesIO()
    torch.save(model.state_dict(), buf)
    model = load_pretrained(buf)
    model.train()
    fit(model, domain(600, 0.8), 8, 5e-3)
    model.eval()
    with torch.no_grad():
        x, y = domain(300, 0.8)
        print("mse on the new domain", nn.functional.mse_loss(model(x), y).item(), "variance", y.var().item())


main()
