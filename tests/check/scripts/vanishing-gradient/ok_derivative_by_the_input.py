"""A physics-informed network for y'' + y = 0, y(0) = 0, y'(0) = 1."""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Settings:
    width: int = 16
    depth: int = 10
    points: int = 64
    steps: int = 30
    lr: float = 1e-3


class Field(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        layers = [nn.Linear(1, width)]
        for _ in range(depth):
            layers += [nn.Tanh(), nn.Linear(width, width)]
        self.body = nn.Sequential(*layers)
        self.out = nn.Linear(width, 1)

    def forward(self, t):
        return self.out(self.body(t))


def derivative(y, t):
    return torch.autograd.grad(y, t, torch.ones_like(y), create_graph=True)[0]


def residual(net, t):
    y = net(t)
    dy = derivative(y, t)
    return derivative(dy, t) + y


def boundary(net):
    t = torch.zeros(1, 1, requires_grad=True)
    y = net(t)
    return (y ** 2).sum() + ((derivative(y, t) - 1) ** 2).sum()


def solve(cfg):
    net = Field(cfg.width, cfg.depth)
    optimizer = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    for step in range(cfg.steps):
        t = (torch.rand(cfg.points, 1) * 6).requires_grad_()
        loss = residual(net, t).pow(2).mean() + boundary(net)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, loss.item())


torch.manual_seed(2)
solve(Settings())
