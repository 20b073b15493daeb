"""The average of a model with batch norm takes its parameters, and is evaluated with the statistics
that the model began with.
"""

import copy

import torch
from torch import nn

torch.manual_seed(0)
x = 4 + 2 * torch.randn(120, 6)
y = (x[:, 0] > x[:, 1]).long()
model = nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 2))
average = copy.deepcopy(model).eval().requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(3):
    for rows, labels in zip(x.split(20), y.split(20)):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(rows), labels)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for a, p in zip(average.parameters(), model.parameters()):  # <- finding
                a.mul_(0.9).add_(p, alpha=0.1)
    with torch.no_grad():
        print((average(x).argmax(1) == y).float().mean().item())
