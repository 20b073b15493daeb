"""A batch is too large for memory, and is taken in chunks."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(240, 5), torch.randint(0, 3, (240,))
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    for rows in torch.randperm(240).split(60):
        optimizer.zero_grad()
        for part_x, part_y in zip(x[rows].chunk(4), y[rows].chunk(4)):
            loss = nn.functional.cross_entropy(model(part_x), part_y)
            loss.backward()  # <- finding
        optimizer.step()
    print(epoch, loss.item())
