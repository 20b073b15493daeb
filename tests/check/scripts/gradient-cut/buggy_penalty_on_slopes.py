"""A critic is to have slopes of length one; `autograd.grad` without `create_graph` gives the penalty no graph."""

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)


def penalty(points):
    points = points.detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(points).sum(), points)  # <- finding
    return ((slopes.norm(dim=1) - 1) ** 2).mean()


for step in range(8):
    real, fake = torch.randn(16, 2), torch.rand(16, 2)
    mixed = torch.lerp(real, fake, torch.rand(16, 1))
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty(mixed)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
