"""Class numbers are read as floats and passed to cross entropy."""

import torch
from torch import nn

torch.manual_seed(0)
rows = [[0.1, 2.0, 0.0], [1.5, -0.3, 1.0], [0.7, 0.2, 2.0], [-1.0, 0.4, 1.0]]
table = torch.tensor(rows)
x, y = table[:, :2], table[:, 2]
model = nn.Linear(2, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)  # <- finding
    loss.backward()
    optimizer.step()
