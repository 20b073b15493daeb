"""A function evaluates what it is given and switches another model."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(96, 6)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))
average = copy.deepcopy(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


@torch.no_grad()
def accuracy(net):
    model.eval()  # <- finding
    return (net(x).argmax(1) == y).float().mean().item()


for _ in range(5):
    model.train()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for kept, p in zip(average.parameters(), model.parameters(), strict=True):
            kept.lerp_(p, 0.2)
    print(accuracy(average))
