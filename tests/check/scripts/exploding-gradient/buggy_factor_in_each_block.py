"""Residual blocks that multiply their sum by two: ten of them are a factor of a thousand, forward and backward."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        return 2.5 * (x + torch.relu(self.inner(x)))  # <- finding


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 24), *[Block(24) for _ in range(10)], nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
x = torch.randn(32, 6)
y = x[:, :1]
for step in range(5):
    loss = nn.functional.smooth_l1_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
