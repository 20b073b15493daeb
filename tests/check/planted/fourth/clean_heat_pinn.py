"""Physics-informed network for u'' = -pi^2 sin(pi x) with zero boundary values."""
import math

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
edge = torch.tensor([[0.0], [1.0]])


def derivative(y, x):
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0]


for step in range(200):
    x = torch.rand(64, 1, requires_grad=True)
    u = net(x)
    residual = derivative(derivative(u, x), x) + math.pi ** 2 * torch.sin(math.pi * x)
    loss = residual.pow(2).mean() + 20 * net(edge).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        grid = torch.linspace(0, 1, 51)[:, None]
        with torch.no_grad():
            error = (net(grid) - torch.sin(math.pi * grid)).abs().max().item()
        print(f"step {step + 1} loss {loss.item():.3f} max error {error:.3f}")
