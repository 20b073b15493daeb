"""Deep residual network for a noisy two-moons problem."""
import math

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width)
        )

    def forward(self, x):
        return self.net(x)


class Skip(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x):
        return x + self.fn(x)


def moons(n):
    y = torch.randint(0, 2, (n,))
    angle = math.pi * torch.rand(n)
    x = torch.stack([torch.cos(angle), torch.sin(angle)], dim=1)
    lower = torch.stack([1 - torch.cos(angle), 0.5 - torch.sin(angle)], dim=1)
    x = torch.where(y[:, None] == 1, lower, x)
    return x + 0.1 * torch.randn(n, 2), y


torch.manual_seed(6)
x, y = moons(800)
x_test, y_test = moons(200)
width, depth = 16, 16
net = nn.Sequential(
    nn.Linear(2, width), *[Skip(Block(width)) for _ in range(depth)], nn.Linear(width, 2)
)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(80):
    idx = torch.randint(0, 800, (64,))
    loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 19:
        print(f"step {step + 1} loss {loss.item():.4f}")
with torch.no_grad():
    print("test accuracy", (net(x_test).argmax(1) == y_test).float().mean().item())
