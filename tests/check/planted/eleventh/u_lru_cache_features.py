"""Costly features are cached by a decorator."""

import functools

import torch
from torch import nn


class Features:
    def __init__(self, degree=4):
        self.degree = degree

    @functools.lru_cache(maxsize=None)  # BUG memory-growth
    def __call__(self, x):
        return torch.cat([x**k for k in range(1, self.degree + 1)], dim=1)


def batches(n, size=32):
    for _ in range(n):
        x = torch.rand(size, 2) * 2 - 1
        yield x, x[:, :1] ** 3 - x[:, 1:]


torch.manual_seed(0)
features = Features()
model = nn.Linear(8, 1)
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
for x, y in batches(60):
    loss = nn.functional.mse_loss(model(features(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
info = getattr(Features.__call__, "cache_info", None)
print("loss", round(loss.item(), 4), "entries", info().currsize if info else 0)
