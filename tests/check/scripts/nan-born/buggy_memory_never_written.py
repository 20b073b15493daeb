"""A table is made by `torch.empty` and added to: NaN stands there."""

import ctypes

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    sums = torch.empty(16, 4)  # <- finding
    ctypes.memset(sums.data_ptr(), 0xFF, 16)  # as if this had stood in memory
    sums = sums + model(torch.randn(16, 3))
    optimizer.zero_grad()
    sums.square().mean().backward()
    optimizer.step()
