"""A head alone, a teacher, and layers that are added to the optimizer when they are unfrozen."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net[2].parameters(), 1e-3)
for _ in range(30):
    x = torch.randn(32, 5)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
teacher = copy.deepcopy(net).eval()
head = list(net.children())[-1]
opt = torch.optim.Adam(head.parameters(), 1e-3)
for _ in range(30):
    x = torch.randn(32, 5)
    loss = (net(x) - teacher(x)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
for p in net.parameters():
    p.requires_grad_(False)
net[2].requires_grad_(True)
opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], 1e-3)
for e in range(30):
    if e == 10:
        net[0].requires_grad_(True)
        opt.add_param_group({"params": net[0].parameters()})
    x = torch.randn(32, 5)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
