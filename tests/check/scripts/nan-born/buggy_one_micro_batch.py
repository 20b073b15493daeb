"""One of four micro-batches gives NaN; the losses of the others are finite, and the step uses the sum of all."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
x = torch.randn(16, 4)
sizes = torch.rand(16, 1)
sizes[6] = -0.01
for step in range(3):
    optimizer.zero_grad()
    for rows, size in zip(x.split(4), sizes.split(4)):
        error = model(rows) - size.sqrt()  # <- finding
        (error.pow(2).mean() / 4).backward()
    optimizer.step()
