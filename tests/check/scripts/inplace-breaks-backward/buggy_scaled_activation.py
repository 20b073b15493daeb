"""A gate's output is scaled in place; the sigmoid has saved it for backward."""

import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.value = nn.Linear(size, size)
        self.gate = nn.Linear(size, size)

    def forward(self, x):
        gate = torch.sigmoid(self.gate(x))
        gate *= 0.5  # <- finding
        return self.value(x) * gate


torch.manual_seed(0)
model = nn.Sequential(Gated(6), nn.Linear(6, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 6), torch.randint(0, 2, (8,))
for step in range(3):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
