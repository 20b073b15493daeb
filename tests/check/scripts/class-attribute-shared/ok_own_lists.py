"""Lists of each object; constants and a registry of the class."""

import torch
from torch import nn

torch.manual_seed(0)


class Meter:
    NAMES = ["loss"]
    limits = {"loss": 10.0}
    registry = {}
    values = []

    def __init__(self, name):
        self.values = []
        self.registry[name] = self

    def add(self, value):
        self.values.append(min(value, self.limits["loss"]))


x = torch.randn(40, 4)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
a, b = Meter("a"), Meter("b")
for rows in x.split(5):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(rows), rows[:, :1])
    loss.backward()
    optimizer.step()
    a.add(loss.item())
    b.add(1.0)
print(a.values, b.values, Meter.registry.keys())
