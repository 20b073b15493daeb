"""The value is bound when the function is made."""

import functools

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(40, 1)
y = torch.sin(2 * x)


def power(k, t):
    return t**k


features = []
for k in range(1, 3):
    features.append(lambda t, k=k: t**k)
for k in range(3, 5):
    features.append(functools.partial(power, k))
rows = torch.cat([f(x) for f in features], 1)
model = nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(rows), y).backward()
    optimizer.step()
