"""Inputs so large that tanh is flat."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
data = torch.rand(256, 10) * 255
Y = (data[:, 0] > 127).long()
X = data
net = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(60):
    loss = F.cross_entropy(net(X), Y)  # <- finding
    opt.zero_grad()
    loss.backward()
    opt.step()
