"""Metric embedding: match pairwise distances of the data in two dimensions (MDS-like)."""
import torch
import torch.nn as nn


def distances(z):
    diff = z[:, None] - z[None]
    return torch.sqrt((diff ** 2).sum(-1))  # BUG nan-born


class Encoder(nn.Module):
    def __init__(self, n_in=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 64), nn.Tanh(), nn.Linear(64, 2))

    def forward(self, x):
        return self.net(x)


def sample(n, basis):
    z = torch.randn(n, 2)
    return torch.tanh(0.5 * z @ basis), z


torch.manual_seed(0)
basis = torch.randn(2, 10)
enc = Encoder()
opt = torch.optim.Adam(enc.parameters(), lr=3e-3)
for step in range(200):
    x, z = sample(48, basis)
    with torch.no_grad():
        target = torch.cdist(z, z)
    stress = ((distances(enc(x)) - target) ** 2).mean()
    opt.zero_grad()
    stress.backward()
    opt.step()
print("stress", stress.item())
