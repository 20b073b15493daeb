"""A helper for tables, with a small number below."""

import torch
from torch import nn

torch.manual_seed(0)
income, age = 40_000 + 12_000 * torch.randn(200), 45 + 12 * torch.randn(200)
rate = 0.05 + 0.01 * torch.randn(200)
x = torch.stack([income, age, rate], 1)
y = (income / 12_000 - age / 12 + rate / 0.01)[:, None]
y = (y - y.mean()) / y.std()


def standardize(table):
    center = table.mean()  # <- finding
    return (table - center) / (table.std() + 1e-8)


x = standardize(x)
model = nn.Sequential(nn.Linear(x.shape[1], 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(6):
    rows = torch.randint(0, 200, (40,))
    loss = nn.functional.mse_loss(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
