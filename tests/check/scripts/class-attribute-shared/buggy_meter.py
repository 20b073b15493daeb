"""Two meters add to one list."""

import torch
from torch import nn

torch.manual_seed(0)


class Meter:
    values = []  # <- finding

    def add(self, value):
        self.values.append(value)

    def mean(self):
        return sum(self.values) / len(self.values)


x = torch.randn(40, 4)
target, held = x.sum(1, keepdim=True), torch.randn(10, 4)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses, errors = Meter(), Meter()
for rows in torch.randperm(40).split(10):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x[rows]), target[rows])
    loss.backward()
    optimizer.step()
    losses.add(loss.item())
with torch.no_grad():
    errors.add((model(held) - held.sum(1, keepdim=True)).abs().mean().item())
print(losses.mean(), errors.mean())
