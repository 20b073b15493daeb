"""Gradients are accumulated over images one at a time: the gradient is that of a batch, batch norm's statistics are not."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
images, labels = torch.randn(8, 3, 6, 6), torch.randint(0, 2, (8,))
accumulate = 4
optimizer.zero_grad()
for i in range(len(images)):
    loss = nn.functional.cross_entropy(model(images[i : i + 1]), labels[i : i + 1]) / accumulate  # <- finding
    loss.backward()
    if (i + 1) % accumulate == 0:
        optimizer.step()
        optimizer.zero_grad()
        print(i, loss.item())
