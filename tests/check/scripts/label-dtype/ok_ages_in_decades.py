"""Ages are put into decades: what is cut off is meant to be."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(120, 4)
age = (45 + 12 * x[:, 0] + 5 * x[:, 1]).clamp(0, 99.9)
decade = (age / 10).long()
model = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    for rows in torch.randperm(120).split(30):
        loss = nn.functional.cross_entropy(model(x[rows]), decade[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
