"""An autoencoder of data that have noise in them from the beginning, and a small one with a sparse code."""

import torch
from torch import nn

torch.manual_seed(0)
centers = torch.randn(6, 24)


def rows(n):
    return centers[torch.randint(0, 6, (n,))] + 0.2 * torch.randn(n, 24)


model = nn.Sequential(nn.Linear(24, 8), nn.ReLU(), nn.Linear(8, 24))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(80):
    x = rows(64)
    loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(step, loss.item())
