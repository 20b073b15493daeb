"""The result of a sigmoid is overwritten before backward uses it."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 4), torch.rand(8, 3)
for _ in range(3):
    gate = torch.sigmoid(model(x))
    gate += 0.1  # <- finding
    loss = nn.functional.mse_loss(gate, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
