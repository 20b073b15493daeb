"""Noise as the default of an argument is drawn once."""

import torch
from torch import nn

N, SIGMA = 64, 0.3


def ring(n):
    a = 6.2832 * torch.rand(n)
    return torch.stack([a.cos(), a.sin()], 1)


torch.manual_seed(0)


def dsm_loss(net, x, noise=torch.randn(N, 2)):  # <- finding
    xt = x + SIGMA * noise
    return (net(xt) + noise).pow(2).sum(1).mean()


class Score(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))

    def forward(self, x):
        return self.f(x)


net = Score()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(8):
    loss = dsm_loss(net, ring(N))
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x = ring(1000)
    e = torch.randn(1000, 2)
    print("test loss with fresh noise", (net(x + SIGMA * e) + e).pow(2).sum(1).mean().item(), "trivial 2.0")
