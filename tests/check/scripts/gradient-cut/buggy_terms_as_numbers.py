"""Penalties that are added to the loss as numbers: one through item(), one through NumPy, one detached."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(6):
    x = torch.randn(16, 4)
    hidden = model[1](model[0](x))
    loss = nn.functional.mse_loss(model[2](hidden), x.sum(1, keepdim=True))
    decay = sum(p.pow(2).sum().item() for p in model.parameters())  # <- finding
    loss = loss + 1e-3 * decay
    largest = np.abs(model[0].weight.detach().numpy()).sum()  # <- finding
    loss = loss + 1e-2 * float(largest)
    sparse = hidden.abs().mean().detach()  # <- finding
    loss = loss + 0.1 * sparse
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
