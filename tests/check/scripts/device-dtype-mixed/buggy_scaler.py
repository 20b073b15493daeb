"""A mean and a deviation out of NumPy, of one element each: they have a dimension, so they make everything float64."""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
prices = rng.normal(size=(40, 1))
mean = torch.from_numpy(prices.mean(0, keepdims=True))  # <- finding
deviation = torch.from_numpy(prices.std(0, keepdims=True))  # <- finding
torch.manual_seed(0)
x, y = torch.randn(40, 3), torch.tensor(prices, dtype=torch.float32)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = (model(x) * deviation + mean - y).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
