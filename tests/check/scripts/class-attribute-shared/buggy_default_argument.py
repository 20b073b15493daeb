"""Two buffers of states keep the default of one argument."""

import torch
from torch import nn

torch.manual_seed(0)


class Collector:
    def __init__(self, size, rows=[]):  # noqa: B006  # <- finding
        self.size = size
        self.rows = rows

    def add(self, row):
        self.rows.append(row)
        return torch.stack(self.rows[-self.size :])


model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
near, far = Collector(8), Collector(8)
for step in range(12):
    batch = near.add(torch.randn(4))
    other = far.add(torch.rand(4))
    loss = (model(batch) - 1).pow(2).mean() + (model(other) + 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), len(near.rows), len(far.rows))
