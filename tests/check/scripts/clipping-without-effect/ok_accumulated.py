"""Gradients of several batches are clipped together."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(64, 4), torch.randn(64, 1)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(4):
    for number, (rows, wanted) in enumerate(zip(x.split(16), y.split(16)), 1):
        loss = nn.functional.mse_loss(model(rows), wanted) / 2
        loss.backward()
        if number % 2 == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
print(loss.item())
