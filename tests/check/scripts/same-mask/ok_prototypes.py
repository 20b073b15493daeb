"""Prototypes that are drawn anew from the same seed for each batch: they are what the data are made of."""

import torch
from torch import nn


def batch(n, stream):
    prototypes = torch.randn(4, 36, generator=torch.Generator().manual_seed(1))
    y = torch.randint(0, 4, (n,), generator=stream)
    return prototypes[y] + 0.5 * torch.randn(n, 36, generator=stream), y


torch.manual_seed(0)
stream = torch.Generator().manual_seed(2)
model = nn.Linear(36, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    x, y = batch(32, stream)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
