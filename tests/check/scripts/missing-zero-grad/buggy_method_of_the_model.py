"""The model's own `zero_grad` clears a counter and no gradients."""

import torch
from torch import nn


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.calls = nn.Linear(4, 1), 0

    def forward(self, x):
        self.calls += 1
        return self.inner(x)

    def zero_grad(self, set_to_none=True):  # <- finding
        self.calls = 0


torch.manual_seed(0)
x, y = torch.randn(32, 4), torch.randn(32, 1)
model = Counting()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    model.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
