"""The log of an output that may be negative: the loss is NaN, while the derivative of log, 1 / x, is finite there."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(32, 4)
for step in range(6):
    out = model(x)
    nll = -torch.log(out[:, 1]).mean()  # <- finding
    optimizer.zero_grad()
    nll.backward()
    optimizer.step()
    print(step, nll.item())
