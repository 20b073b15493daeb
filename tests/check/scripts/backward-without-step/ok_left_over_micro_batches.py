"""A step every four micro-batches; the last two of ten are left over."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for k in range(10):
    loss = nn.functional.mse_loss(model(torch.randn(4, 5)), torch.randn(4, 1)) / 4
    loss.backward()
    if (k + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
print(loss.item())
