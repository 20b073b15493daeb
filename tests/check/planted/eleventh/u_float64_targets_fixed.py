"""Targets from a table of doubles."""

import numpy as np
import torch
from torch import nn


def load(n=100):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 4))
    y = x @ np.array([1.0, 2.0, -1.0, 0.5]) + 0.1 * rng.normal(size=n)
    return torch.tensor(x, dtype=torch.float32), torch.from_numpy(y).float()


torch.manual_seed(0)
x, y = load()
model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    for xb, yb in zip(x.split(20), y.split(20)):
        error = model(xb).squeeze(1) - yb
        loss = error.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", round(loss.item(), 3), loss.dtype)
