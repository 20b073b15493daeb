"""Rows of pixels, of which some are hardly ever lit."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.rand(200, 36) * (torch.rand(200, 36) < torch.linspace(0.02, 0.9, 36))
x[:, 0] = 0
x[3, 0] = 1e-5
y = x[:, 18:].mean(1, keepdim=True) - x[:, :18].mean(1, keepdim=True)
x = (x - x.mean()) / x.std()
model = nn.Sequential(nn.Linear(x.shape[1], 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(6):
    rows = torch.randint(0, 200, (40,))
    loss = nn.functional.mse_loss(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
