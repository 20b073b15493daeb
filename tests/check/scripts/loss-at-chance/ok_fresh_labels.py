"""A loop that measures speed on random labels, drawn anew for every step: there is nothing to learn."""

import time

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
began = time.perf_counter()
for _ in range(80):
    x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(time.perf_counter() - began, loss.item())
