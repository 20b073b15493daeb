"""Encoder with a main head and an auxiliary reconstruction head."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class AuxNet(nn.Module):
    def __init__(self, d_in=12, d=24):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d_in, d), nn.ReLU())
        self.main = nn.Linear(d, 2)
        self.recon = nn.Linear(d, d_in)

    def forward(self, x):
        h = self.enc(x)
        return self.main(h), self.recon(h)


def compute(model, x, y):
    logits, rec = model(x)
    return F.cross_entropy(logits, y), F.mse_loss(rec, x)


def fit(model, steps=200, aux_weight=0.5):
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        x = torch.randn(64, 12)
        y = (x[:, 0] * x[:, 1] > 0).long()
        main, aux = compute(model, x, y)
        loss = main + aux_weight * aux
        opt.zero_grad()
        loss.backward()
        opt.step()


torch.manual_seed(0)
model = AuxNet()
fit(model)
with torch.no_grad():
    x = torch.randn(500, 12)
    y = (x[:, 0] * x[:, 1] > 0).long()
    ce, rec = compute(model, x, y)
print(f"main loss {ce.item():.3f} reconstruction {rec.item():.3f}")
