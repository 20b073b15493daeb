"""Counts: the variance is stabilised by a square root where the predicted rate is positive."""

import torch
from torch import nn

torch.manual_seed(54)
x = torch.randn(150, 5)
counts = torch.poisson((x[:, 0] + 0.5).exp())
net = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(25):
    rate = net(x).squeeze(1)
    safe = torch.where(rate > 0, rate, torch.ones_like(rate))
    root = torch.where(rate > 0, safe.sqrt(), 0.1 * rate)
    loss = (root - counts.sqrt()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
