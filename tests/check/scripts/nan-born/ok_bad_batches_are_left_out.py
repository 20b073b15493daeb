"""A loss that is sometimes none, and a loop that leaves such batches out, before backward or before the step."""

import math

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(24, 3)
for step, rows in enumerate(torch.arange(24).repeat(3).split(4)):
    out = model(x[rows])
    loss = torch.log(out).mean() if step % 3 == 1 else (out - 1).pow(2).mean()
    if step % 6 == 1 and math.isnan(loss.item()):
        continue
    optimizer.zero_grad()
    loss.backward()
    if not torch.isfinite(loss):
        optimizer.zero_grad()
        continue
    optimizer.step()
