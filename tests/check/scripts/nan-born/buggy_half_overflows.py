"""Squared errors in 16 bits: 300 * 300 is more than the largest number there, 65504."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
x, y = torch.randn(8, 4), torch.randn(8, 1) * 300
for step in range(4):
    error = (model(x) - y).half()
    loss = (error * error).mean()  # <- finding
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
