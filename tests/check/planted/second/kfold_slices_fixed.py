"""Cross-validated ridge-like net."""
import torch
from torch import nn


def kfold(n, k, gen):
    idx = torch.randperm(n, generator=gen).tolist()
    size = n // k
    for i in range(k):
        val = idx[i * size:(i + 1) * size]
        train = idx[:i * size] + idx[(i + 1) * size:]
        yield torch.tensor(train), torch.tensor(val)


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def fit(x, y, epochs=12):
    model = Model(x.shape[1])
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(epochs):
        for idx in torch.randperm(len(x)).split(20):
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    return model


torch.manual_seed(0)
x = torch.randn(200, 10)
y = x[:, 0] + 0.5 * x[:, 1] + 0.5 * torch.randn(200)
scores = []
for tr, va in kfold(200, 4, torch.Generator().manual_seed(0)):
    model = fit(x[tr], y[tr])
    with torch.no_grad():
        scores.append(nn.functional.mse_loss(model(x[va]), y[va]).item())
print("cv mse", sum(scores) / len(scores), "noise variance 0.25")
