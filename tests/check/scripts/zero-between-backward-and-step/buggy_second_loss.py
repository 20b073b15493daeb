"""Two losses, each with a backward of its own, and the gradients of the first are cleared before the second."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    x = torch.randn(8, 4)
    optimizer.zero_grad()
    (model(x) - x[:, :1]).pow(2).mean().backward()
    optimizer.zero_grad()  # <- finding
    (0.01 * model.weight.pow(2).sum()).backward()
    optimizer.step()
