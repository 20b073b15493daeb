"""Gradients that are put into the parameters by the program: an evolution strategy, and `autograd.grad`."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(20, 3), torch.randn(20, 1)
model = nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(3):
    optimizer.zero_grad()
    for p in model.parameters():
        estimate = torch.zeros_like(p)
        for _ in range(4):
            noise = torch.randn_like(p)
            with torch.no_grad():
                p += 0.01 * noise
                estimate += nn.functional.mse_loss(model(x), y) * noise
                p -= 0.01 * noise
        p.grad = estimate / 4
    optimizer.step()

for _ in range(3):
    loss = nn.functional.mse_loss(model(x), y)
    for p, g in zip(model.parameters(), torch.autograd.grad(loss, list(model.parameters()))):
        p.grad = g
    optimizer.step()
print(loss.item())
