"""Layers in a plain list, which the module does not look into."""

import torch
from torch import nn


class Mlp(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.hidden = [nn.Linear(a, b) for a, b in zip(widths, widths[1:])]  # <- finding
        self.out = nn.Linear(widths[-1], 1)

    def forward(self, x):
        for layer in self.hidden:
            x = torch.relu(layer(x))
        return self.out(x)


torch.manual_seed(0)
model = Mlp([4, 16, 16])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(5):
    x = torch.randn(16, 4)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    loss.backward()
    optimizer.step()
print(loss.item())
