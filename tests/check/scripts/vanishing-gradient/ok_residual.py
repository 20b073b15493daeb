"""Depth with residual connections and normalisation; the last matrix of each branch begins at zero."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)
        nn.init.zeros_(self.b.weight)
        nn.init.zeros_(self.b.bias)

    def forward(self, x):
        return x + self.b(torch.sigmoid(self.a(self.norm(x))))


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), *[Block(16) for _ in range(10)], nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x, y = torch.randn(32, 6), torch.randint(0, 2, (32,))
for step in range(5):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
