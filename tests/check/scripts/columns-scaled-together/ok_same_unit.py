"""Columns of one unit: their sizes are to be compared."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 5) * torch.tensor([1.0, 2.0, 5.0, 10.0, 0.2]) + 20
y = x.sum(1, keepdim=True)
y = (y - y.mean()) / y.std()
x = (x - x.mean()) / x.std()
model = nn.Sequential(nn.Linear(x.shape[1], 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(6):
    rows = torch.randint(0, 200, (40,))
    loss = nn.functional.mse_loss(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
