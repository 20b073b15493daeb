"""The running average of a model is evaluated, and the model itself is switched to eval mode."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Dropout(0.4), nn.Linear(32, 2))
average = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(96, 4)
y = (x[:, 0] > 0).long()
for epoch in range(3):
    model.train()
    for rows in torch.arange(64).split(16):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for old, new in zip(average.parameters(), model.parameters()):
                old.lerp_(new, 0.1)
    model.eval()
    with torch.no_grad():
        print((average(x[64:]).argmax(dim=1) == y[64:]).float().mean().item())  # <- finding
