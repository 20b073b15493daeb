"""Rows of one group are each other's positives."""

import torch
from torch import nn

torch.manual_seed(0)
group = torch.randint(0, 5, (200,))
x = torch.randn(5, 6)[group] + 0.5 * torch.randn(200, 6)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(6):
    rows = torch.randint(0, 200, (40,))
    z = nn.functional.normalize(model(x[rows]), dim=1)
    same = (group[rows, None] == group[None, rows]).float()
    loss = nn.functional.cross_entropy(z @ z.T / 0.5, same)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
