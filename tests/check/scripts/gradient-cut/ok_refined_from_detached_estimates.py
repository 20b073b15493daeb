"""An estimate is refined from a detached one several times, and each has its loss."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(6):
    x = torch.randn(8, 4)
    target = x[:, :2] - x[:, 2:]
    estimate, losses = torch.zeros(8, 2), []
    for _ in range(4):
        estimate = estimate.detach()
        estimate = estimate + model(torch.cat([x, estimate], 1))
        losses.append((estimate - target).abs().mean())
    loss = sum(0.8 ** (3 - k) * one for k, one in enumerate(losses))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
