"""Only scales are trained, with decay towards zero; one group for all of another model."""

import torch
from torch import nn

torch.manual_seed(0)
body = nn.Linear(4, 8).requires_grad_(False)
scales = nn.ParameterList([torch.ones(8), torch.zeros(8)])
optimizer = torch.optim.SGD(scales, lr=0.05, weight_decay=0.01)
x = torch.randn(20, 4)
for _ in range(3):
    optimizer.zero_grad()
    out = (body(x) * scales[0] + scales[1]).sum(1)
    loss = nn.functional.mse_loss(out, x[:, 0])
    loss.backward()
    optimizer.step()
print(loss.item())
