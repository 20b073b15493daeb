"""A batch whose loss is no number is left out, before its backward or before its step."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(5, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for k in range(30):
    x = torch.randn(4, 5)
    loss = (torch.log(model(x)[:, 1] + 1.5) ** 2).mean()
    if k % 2 and torch.isnan(loss):
        continue
    optimizer.zero_grad()
    loss.backward()
    if torch.isnan(loss):
        optimizer.zero_grad()
        continue
    optimizer.step()
