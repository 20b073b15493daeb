"""All streams are seeded but the one that draws."""

import random

import numpy as np
import torch
from torch import nn


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)  # <- finding


seed_all(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 1e-2)
for _ in range(10):
    x = torch.randn(8, 4)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
