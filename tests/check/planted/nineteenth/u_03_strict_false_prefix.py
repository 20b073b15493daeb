"""Linear probe on a frozen encoder that is restored from a wrapped model's checkpoint."""
import os
import tempfile
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(20, 40)
        self.b = nn.Linear(40, 10)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


class Wrapped(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)


def pretrain(path, x):
    model = Wrapped(Encoder())
    dec = nn.Linear(10, 20)
    opt = torch.optim.Adam([*model.parameters(), *dec.parameters()], lr=3e-3)
    for _ in range(60):
        loss = (dec(model(x)) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    torch.save({"model": model.state_dict(), "loss": loss.item()}, path)


def probe(path, x, y):
    encoder = Encoder()
    checkpoint = torch.load(path)
    encoder.load_state_dict(checkpoint["model"], strict=False)  # BUG keys-ignored
    encoder.eval()
    for p in encoder.parameters():
        p.requires_grad_(False)
    head = nn.Linear(10, 2)
    opt = torch.optim.SGD(head.parameters(), lr=0.2)
    for epoch in range(10):
        for i in range(0, len(x), 64):
            loss = nn.functional.cross_entropy(head(encoder(x[i:i + 64])), y[i:i + 64])
            opt.zero_grad()
            loss.backward()
            opt.step()
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    basis = torch.randn(3, 20)
    z = torch.randn(384, 3)
    x = z @ basis + 0.05 * torch.randn(384, 20)
    y = (z[:, 0] > 0).long()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "encoder.pt")
        pretrain(path, x)
        print(probe(path, x, y))
