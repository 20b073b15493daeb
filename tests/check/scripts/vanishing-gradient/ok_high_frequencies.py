"""Features of high frequencies, scaled."""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
B = torch.randn(2, 32) * 10
net = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1), nn.Sigmoid())
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
X = torch.rand(256, 2)
Y = ((X * 6).sin().prod(1, keepdim=True) + 1) / 2
for it in range(40):
    f = 2 * math.pi * X @ B
    loss = F.mse_loss(net(torch.cat([f.sin(), f.cos()], 1)), Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
