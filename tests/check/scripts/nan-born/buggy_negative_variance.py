"""A Gaussian likelihood whose variance is a plain output of a layer, so that it may be negative."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for _ in range(20):
    x = torch.randn(32, 3)
    y = x.sum(1)
    mean, variance = model(x).unbind(1)
    loss = (0.5 * torch.log(variance) + (y - mean).abs()).mean()  # <- finding
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
