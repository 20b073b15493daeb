"""The rate is multiplied in every epoch."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), 1e-2)
for epoch in range(12):
    for g in opt.param_groups:
        g["lr"] *= 3  # <- finding
    for _ in range(20):
        x = torch.randn(16, 6)
        loss = (net(x) - x[:, :1]).pow(2).mean()  # <- finding: nan-born
        opt.zero_grad()
        loss.backward()
        opt.step()
