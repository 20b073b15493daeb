"""PINN: u'' + u = 0 with u(0)=0, u'(0)=1."""
import math
import torch
from torch import nn


class Field(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, t):
        return self.net(t)


def derivative(u, t, order=1):
    for k in range(order):
        last = k == order - 1
        (u,) = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)
    return u


def losses(model, n=64):
    t = (torch.rand(n, 1) * math.pi).requires_grad_()
    u = model(t)
    residual = derivative(u, t, 2) + u
    t0 = torch.zeros(1, 1, requires_grad=True)
    u0 = model(t0)
    start = u0.pow(2).mean() + (derivative(u0, t0) - 1).pow(2).mean()
    return residual.pow(2).mean(), start


torch.manual_seed(0)
model = Field()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.998)
for step in range(120):
    optimizer.zero_grad()
    residual, start = losses(model)
    loss = residual + 5 * start
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 40 == 0:
        print(step, residual.item(), start.item())
