"""Defaults that nothing fills, that are copied, or that are meant for all; a list that is given."""

import torch
from torch import nn


class Collector:
    def __init__(self, rows=None, sizes=[], names=[], cache={}):  # noqa: B006
        self.rows = [] if rows is None else rows
        self.sizes = list(sizes)
        self.names = names
        self.cache = cache

    def add(self, row):
        self.rows.append(row)
        self.sizes.append(len(row))
        self.cache[len(self.rows)] = True


torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
shared = []
collectors = [Collector(), Collector(), Collector(shared), Collector(shared)]
for step in range(8):
    x = torch.randn(16, 4)
    loss = (model(x) - x[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for collector in collectors:
        collector.add([step])
print(loss.item(), [len(c.rows) for c in collectors])
