"""Gradients of four batches make one update; those of the last two are there for the next epoch, and bad rounds are thrown away."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(140, 5)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
count = 0
for epoch in range(4):
    for rows in torch.randperm(140).split(10):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows]) / 4
        loss.backward()
        count += 1
        if count % 4 == 0:
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if count % 12:
                optimizer.step()
            optimizer.zero_grad()
