"""A physics-informed network: derivatives of the output in the loss, LBFGS with a closure, parameters that are no module's."""

import math

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1)).double()
frequency = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
t = torch.linspace(0, math.pi, 30, dtype=torch.float64).unsqueeze(1).requires_grad_()
observed = torch.cos(2 * t.detach()[::6])
optimizer = torch.optim.LBFGS([*net.parameters(), frequency], lr=0.5, max_iter=6, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    u = net(t)
    (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
    (ddu,) = torch.autograd.grad(du.sum(), t, create_graph=True)
    equation = (ddu + frequency**2 * u).pow(2).mean()
    data = (net(t[::6]) - observed).pow(2).mean()
    loss = data + 0.01 * equation
    loss.backward()
    return loss


for step in range(6):
    loss = optimizer.step(closure)
    print(step, loss.item(), frequency.item())
