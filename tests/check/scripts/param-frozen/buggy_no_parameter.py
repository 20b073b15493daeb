"""A weight that is a plain tensor, and a switch that is compared instead of set."""

import torch
from torch import nn


class Mix(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.randn(4, 4) / 2  # <- finding
        self.out = nn.Linear(4, 1)

    def forward(self, x):
        return self.out(torch.relu(x @ self.weight))


torch.manual_seed(0)
model = Mix()
for p in model.parameters():
    p.requires_grad == True  # noqa: E712  # <- finding
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for _ in range(5):
    x = torch.randn(16, 4)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
