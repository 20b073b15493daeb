"""Gradients are clipped before backward has computed them."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(64, 4), torch.randn(64, 1)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(8):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <- finding
    loss.backward()
    optimizer.step()
print(loss.item())
