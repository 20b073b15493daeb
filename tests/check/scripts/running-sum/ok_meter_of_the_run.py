"""A meter of all epochs, made anew for each."""

import torch
from torch import nn

torch.manual_seed(0)


class Meter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.total = self.count = 0

    def update(self, value, n):
        self.total += value.item() * n
        self.count += n

    @property
    def mean(self):
        return self.total / self.count


x = torch.randn(120, 4)
y = x.sum(1, keepdim=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def evaluate():
    meter = Meter()
    with torch.no_grad():
        for a, b in zip(x.split(40), y.split(40), strict=True):
            meter.update(nn.functional.mse_loss(model(a), b), len(a))
    return meter.mean


for _ in range(4):
    for a, b in zip(x.split(40), y.split(40), strict=True):
        loss = nn.functional.mse_loss(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(evaluate())
