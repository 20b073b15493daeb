"""An equation is trained at random points, with a backward in a function of its own before that of the boundary; and an attack
that takes the gradient of its input alone."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)


def inside():
    x = torch.rand(32, 1).requires_grad_()
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    loss = ((slope + net(x)) ** 2).mean()
    loss.backward()
    return loss.item()


def attack(x):
    x = x.clone().requires_grad_()
    (grad,) = torch.autograd.grad((net(x) ** 2).sum(), x)
    return (x + 0.01 * grad.sign()).detach()


for step in range(60):
    optimizer.zero_grad()
    total = inside()
    boundary = ((net(torch.zeros(4, 1)) - 1) ** 2).mean()
    boundary.backward()
    with torch.no_grad():
        x = torch.rand(8, 1)
    optimizer.step()
    print(step, total, boundary.item(), net(attack(x)).mean().item())
