"""Rates are written into an array that has the type of the counts."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
counts = rng.integers(1, 9, 600)
rates = np.zeros_like(counts)  # <- finding
for k, c in enumerate(counts):
    rates[k] = np.log(c)
x = torch.tensor(counts[:, None] + 0.1 * rng.normal(size=(600, 3)), dtype=torch.float32)
y = torch.tensor(rates, dtype=torch.float32)
net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(40):
    i = torch.randint(0, 600, (64,))
    loss = F.mse_loss(net(x[i]).squeeze(1), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
