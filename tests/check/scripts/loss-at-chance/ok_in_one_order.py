"""Inputs and labels in one order: one permutation for both, seeds set again between two shuffles, the next item as target."""

import random

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(128, 6)
y = (x[:, 0] > 0).long()
rows, labels = x.tolist(), y.tolist()
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(20):
    random.seed(epoch)
    random.shuffle(rows)
    random.seed(epoch)
    random.shuffle(labels)
    order = torch.randperm(128)
    x, y = torch.tensor(rows)[order], torch.tensor(labels)[order]
    for k in range(0, 128, 32):
        loss = nn.functional.cross_entropy(model(x[k : k + 32]), y[k : k + 32])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
