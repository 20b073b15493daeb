"""Inputs that want a gradient: a saliency map, a physics-informed loss on fixed points, an adversarial example."""

import torch
from torch import nn

torch.manual_seed(0)
points = torch.linspace(0, 1, 16).unsqueeze(1).requires_grad_()
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(4):
    u = model(points)
    slope = torch.autograd.grad(u.sum(), points, create_graph=True)[0]
    loss = (slope - u).pow(2).mean() + (u[0] - 1).pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

optimizer.zero_grad()
noise = torch.zeros(16, 1, requires_grad=True)
for _ in range(3):
    loss = model(points.detach() + noise).mean()
    loss.backward()
    noise.data += 0.01 * noise.grad.sign()
    noise.grad.zero_()
    optimizer.step()
    optimizer.zero_grad()
print(loss.item())
