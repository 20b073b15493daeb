"""Focal loss and Dice on probabilities."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Conv2d(1, 1, 3, padding=1)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)


def dice(p, t):
    return 1 - (2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)


def focal(x, t):
    p = torch.sigmoid(x)
    pt = p * t + (1 - p) * (1 - t)
    return ((1 - pt) ** 2 * F.binary_cross_entropy_with_logits(x, t, reduction="none")).mean()


X = torch.randn(16, 1, 8, 8)
Y = (X > 0.3).float()
for step in range(30):
    o = net(X)
    loss = dice(torch.sigmoid(o), Y) + focal(o, Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
