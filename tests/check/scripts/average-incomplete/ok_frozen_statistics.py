"""Batch norm that is kept in eval mode has the same statistics in the model and its average."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 8), nn.ReLU())
body(2 + torch.randn(64, 4))
model = nn.Sequential(body, nn.Linear(8, 2))
body[0].eval()
average = copy.deepcopy(model).eval()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(20):
    x = 2 + torch.randn(16, 4)
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 2).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for a, p in zip(average.parameters(), model.parameters()):
            a.lerp_(p, 0.1)
        held = average(x)
print(loss.item(), held.sum().item())
