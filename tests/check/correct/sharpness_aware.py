"""Sharpness-aware minimization: a step uphill, gradients cleared, a second backward, and the base optimizer's step."""

import torch
import torch.nn.functional as F
from torch import nn


class Sharpness:
    def __init__(self, parameters, base, rho=0.05):
        self.parameters, self.base, self.rho = list(parameters), base, rho
        self.moved = []

    @torch.no_grad()
    def up(self):
        norm = torch.stack([p.grad.norm() for p in self.parameters]).norm()
        self.moved = [p.grad * (self.rho / (norm + 1e-12)) for p in self.parameters]
        for p, e in zip(self.parameters, self.moved):
            p.add_(e)
        self.base.zero_grad()

    @torch.no_grad()
    def down(self):
        for p, e in zip(self.parameters, self.moved):
            p.sub_(e)
        self.base.step()
        self.base.zero_grad()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
sharpness = Sharpness(net.parameters(), torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9))
for step in range(6):
    x = torch.randn(16, 3)
    y = x.sum(1, keepdim=True)
    loss = F.mse_loss(net(x), y)
    loss.backward()
    sharpness.up()
    F.mse_loss(net(x), y).backward()
    sharpness.down()
    print(step, loss.item())
