"""Conversions that find nothing to convert, and operations that only warm something up."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(40, 6)
x.to("cpu")
torch.zeros(1).to(torch.float64)
for _ in range(3):
    x.mul(2.0)
model = nn.Linear(6, 1)
model.to("cpu")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), x[:, :1]).backward()
    optimizer.step()
