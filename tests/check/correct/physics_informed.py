"""A physics-informed network: derivatives of the output by autograd.grad, a plain tanh network, then LBFGS."""

import torch
from torch import nn

torch.manual_seed(0)
layers = [nn.Linear(1, 20), nn.Tanh()]
for _ in range(5):
    layers += [nn.Linear(20, 20), nn.Tanh()]
u = nn.Sequential(*layers, nn.Linear(20, 1))
for m in u:
    if isinstance(m, nn.Linear):
        nn.init.xavier_normal_(m.weight)
        nn.init.zeros_(m.bias)


def residual():
    x = torch.linspace(0, 1, 24).unsqueeze(1).requires_grad_()
    value = u(x)
    (slope,) = torch.autograd.grad(value.sum(), x, create_graph=True)
    edge = u(torch.zeros(1, 1)) - 1
    return ((slope + value) ** 2).mean() + (edge**2).mean()


adam = torch.optim.Adam(u.parameters(), lr=1e-3)
for step in range(6):
    adam.zero_grad()
    loss = residual()
    loss.backward()
    adam.step()
lbfgs = torch.optim.LBFGS(u.parameters(), max_iter=4, line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    loss = residual()
    loss.backward()
    return loss


for _ in range(2):
    print(lbfgs.step(closure).item())
