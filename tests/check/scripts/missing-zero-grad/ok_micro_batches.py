"""Gradients of four micro-batches are summed on purpose and cleared after the step."""

import torch
from torch import nn

torch.manual_seed(0)
data, targets = torch.randn(64, 4), torch.randn(64, 1)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulation = 4
optimizer.zero_grad()
for epoch in range(2):
    for i, (x, y) in enumerate(zip(data.split(8), targets.split(8))):
        loss = nn.functional.mse_loss(model(x), y) / accumulation
        loss.backward()
        if (i + 1) % accumulation == 0:
            optimizer.step()
            optimizer.zero_grad()
print(loss.item())
