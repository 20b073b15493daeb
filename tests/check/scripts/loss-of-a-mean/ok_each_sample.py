"""Losses of single samples, weighted and masked before the mean."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(32, 6)
y = (x[:, 0] > 0.5).long()
weights = torch.rand(32)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(5):
    optimizer.zero_grad()
    ce = nn.functional.cross_entropy(model(x), y, reduction="none")
    loss = ((1 - torch.exp(-ce)) ** 2 * ce * weights).sum() / weights.sum()
    loss.backward()
    optimizer.step()
print(loss.item(), torch.exp(-loss.detach()).item())
