"""An equation with y * (1 - y), where y is the network's raw output."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
r = nn.Parameter(torch.tensor(1.0))
opt.add_param_group({"params": [r]})
for step in range(30):
    t = torch.rand(64, 1, requires_grad=True)
    y = net(t)
    dy = torch.autograd.grad(y.sum(), t, create_graph=True)[0]
    loss = (dy - r * y * (1 - y)).pow(2).mean() + (net(torch.zeros(1, 1)) - 0.1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
