"""`loss.backward` without the parentheses."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x[:, :1] - x[:, 1:2]
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(6):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward  # <- finding
    optimizer.step()
    print(loss.item())
