"""Tabular data straight from NumPy."""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(39)
X = rng.normal(size=(128, 6)).astype(np.float32)
y = (X.sum(axis=1) > 0).astype(np.int64)
inputs, targets = torch.from_numpy(X), torch.from_numpy(y)

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2))
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(10):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    opt.step()
print(loss.item())
