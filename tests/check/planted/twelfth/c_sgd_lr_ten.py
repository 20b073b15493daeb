"""Two moons with a learning rate found by trial."""

import math

import torch
from torch import nn

CONFIG = {
    "hidden": 32,
    "steps": 60,
    "lr": 30.0,  # BUG lr-absurd|exploding-gradient|nan-born
}


def moons(n):
    t = torch.rand(n) * math.pi
    side = torch.randint(0, 2, (n,))
    px = torch.where(side == 0, t.cos(), 1 - t.cos())
    py = torch.where(side == 0, t.sin(), 0.5 - t.sin())
    return torch.stack([px, py], 1) + 0.05 * torch.randn(n, 2), side.float()


torch.manual_seed(18)
net = nn.Sequential(
    nn.Linear(2, CONFIG["hidden"]), nn.Tanh(), nn.Linear(CONFIG["hidden"], 1), nn.Flatten(0)
)
opt = torch.optim.SGD(net.parameters(), lr=CONFIG["lr"])  # BUG lr-absurd|exploding-gradient|nan-born
loss_fn = nn.BCEWithLogitsLoss()
for step in range(CONFIG["steps"]):
    x, y = moons(64)
    opt.zero_grad()
    loss = loss_fn(net(x), y)
    loss.backward()
    opt.step()
    if step % 20 == 19:
        print(step + 1, loss.item())
