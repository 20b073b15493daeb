"""Constant weights by `apply`; rounding makes their rows differ by a little."""

import torch
from torch import nn

torch.manual_seed(9)


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.up, self.down, self.norm = nn.Linear(d, h), nn.Linear(h, d), nn.LayerNorm(d)

    def forward(self, x):
        return x + self.down(nn.functional.silu(self.up(self.norm(x))))


def start(module):
    if isinstance(module, nn.Linear):
        nn.init.constant_(module.weight, 0.02)  # <- finding
        nn.init.zeros_(module.bias)


x = torch.rand(600, 8)
y = torch.sin(3 * x[:, :1]) + x[:, 1:2]
blocks = [Block(32, 64), Block(32, 64)]
model = nn.Sequential(nn.Linear(8, 32), *blocks, nn.Linear(32, 1))
model.apply(start)
for block in blocks:
    nn.init.zeros_(block.down.weight)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(7):
    for rows in torch.randperm(600).split(60):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
print(loss.item())
