"""A slice of the parameters that was meant to leave out a layer leaves out its bias alone."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
for p in list(net.parameters())[:-1]:
    p.requires_grad = False  # <- finding
opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], 1e-2)
for _ in range(30):
    x = torch.randn(32, 5)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
