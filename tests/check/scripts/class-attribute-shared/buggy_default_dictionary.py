"""Meters in a dictionary keep the default of a keyword."""

import torch
from torch import nn


class Meter:
    def __init__(self, name, *, sums={}):  # noqa: B006  # <- finding
        self.name = name
        self.sums = sums

    def update(self, key, value):
        self.sums[key] = self.sums.get(key, 0.0) + value


torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
meters = {"train": [Meter("train")], "held": [Meter("held")]}
for step in range(8):
    x = torch.randn(16, 4)
    loss = (model(x) - x[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    meters["train"][0].update("loss", loss.item())
    with torch.no_grad():
        x = torch.randn(16, 4)
        meters["held"][0].update("loss", (model(x) - x[:, :1]).pow(2).mean().item())
print(meters["train"][0].sums, meters["held"][0].sums)
