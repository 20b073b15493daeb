"""A guard leaves out the backward of outliers and forgets the step, which goes on with its momentum."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for k in range(20):
    x = torch.randn(16, 3)
    y = x.sum(1, keepdim=True) + (100.0 if k % 4 == 3 else 0.0)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    if loss.item() < 50:
        loss.backward()
    optimizer.step()  # <- finding
