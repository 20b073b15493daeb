"""Targets from NumPy are float64; the loss and its gradient are computed in float64 without a word."""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
features = rng.normal(size=(30, 3))
prices = features @ np.array([[1.0], [2.0], [-1.0]])
torch.manual_seed(0)
x = torch.tensor(features, dtype=torch.float32)
y = torch.from_numpy(prices)  # <- finding
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
