"""Gradients without a graph that only weigh or move: balanced losses, an adversarial input, a norm that is printed."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for rows in torch.arange(64).split(8):
    near = x[rows].clone().requires_grad_()
    error = nn.functional.mse_loss(model(near), y[rows])
    (slope,) = torch.autograd.grad(error, near, retain_graph=True)
    other = model(near.detach() + 0.1 * slope.sign()).square().mean()
    (a,) = torch.autograd.grad(error, model[2].weight, retain_graph=True)
    (b,) = torch.autograd.grad(other, model[2].weight, retain_graph=True)
    loss = error + other * (a.norm() / (b.norm() + 1e-8))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.3f} {slope.norm().item():.3f}")
