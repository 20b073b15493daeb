"""A write through `.data` that nothing counts: the gradient is silently wrong."""

import torch
from torch import nn


class Normalized(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 6)
        self.outer = nn.Linear(6, 1)

    def forward(self, x):
        h = torch.tanh(self.inner(x))
        out = self.outer(h)
        h.data.mul_(0.5)  # <- finding
        return out


torch.manual_seed(0)
model = Normalized()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
