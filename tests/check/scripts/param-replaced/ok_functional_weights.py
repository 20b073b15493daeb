"""Weights that change from step to step on purpose: fast weights of an inner loop, a target network made anew."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
target = copy.deepcopy(model)
for step in range(6):
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    inner = nn.functional.mse_loss(nn.functional.linear(x, model.weight, model.bias), y)
    gradients = torch.autograd.grad(inner, list(model.parameters()), create_graph=True)
    weight, bias = [p - 0.1 * g for p, g in zip(model.parameters(), gradients)]
    with torch.no_grad():
        wanted = target(x)
    loss = nn.functional.mse_loss(nn.functional.linear(x, weight, bias), wanted + y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 2 == 1:
        target = copy.deepcopy(model)
print(loss.item())
