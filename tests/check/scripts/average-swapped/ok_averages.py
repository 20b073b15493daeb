"""Averages in several spellings, one with a decay that grows."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(60, 4)
model = nn.Linear(4, 1)
copies = [copy.deepcopy(model).requires_grad_(False) for _ in range(4)]
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
step = 0
for _ in range(3):
    for rows in x.split(10):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(rows), rows.sum(1, keepdim=True))
        loss.backward()
        optimizer.step()
        step += 1
        decay = min(0.99, (1 + step) / (10 + step))
        with torch.no_grad():
            for a, b, c, d, p in zip(*(m.parameters() for m in (*copies, model))):
                a.lerp_(p, 0.01)
                b.mul_(0.99).add_(p, alpha=0.01)
                c.data = decay * c.data + (1 - decay) * p.data
                d -= (1 - decay) * (d - p)
print(loss.item())
