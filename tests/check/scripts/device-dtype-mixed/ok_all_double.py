"""float64 from end to end, as for a check of gradients; float64 sums of numbers that are only shown."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.from_numpy(np.random.RandomState(0).randn(20, 3)), torch.randn(20, 1, dtype=torch.float64)
model = nn.Linear(3, 1).double()
small = nn.Linear(3, 1)
optimizer = torch.optim.SGD([*model.parameters(), *small.parameters()], lr=0.1)
total = torch.zeros(1, dtype=torch.float64)
for _ in range(4):
    loss = nn.functional.mse_loss(model(x), y)
    other = nn.functional.mse_loss(small(x.float()), y.float())
    optimizer.zero_grad()
    (loss + other).backward()
    optimizer.step()
    total += other.detach()
    with torch.no_grad():
        error = (small(x.float()) - y).abs().mean()
print(total.item(), error.item())
