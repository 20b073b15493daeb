"""A product of ratios that a clamp limits."""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
pi = nn.Linear(4, 3)
opt = torch.optim.SGD(pi.parameters(), lr=0.05)
for it in range(30):
    s = torch.randn(32, 10, 4)
    a = torch.randint(0, 3, (32, 10))
    r = (a == 0).float() * s[..., 0]
    lp = F.log_softmax(pi(s), -1).gather(-1, a[..., None]).squeeze(-1)
    w = (lp + math.log(3)).sum(1).exp().clamp(max=5)
    loss = -(w * r.sum(1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
