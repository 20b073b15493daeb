"""The logarithm of a score that may be negative: the loss is NaN, while 1 / x, the gradient, is an ordinary number."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(5, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for _ in range(20):
    x = torch.randn(64, 5)
    out = model(x)
    loss = torch.log(out[:, 1]).mean()  # <- finding
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
