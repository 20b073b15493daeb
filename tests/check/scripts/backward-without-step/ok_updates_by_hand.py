"""Updates by hand, in the ways they are written; no optimizer steps."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(32, 3), torch.randn(32, 1)
model = nn.Linear(3, 1)
for _ in range(4):
    model.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.1 * p.grad

w = torch.zeros(3, 1, requires_grad=True)
for _ in range(4):
    loss = (x @ w - y).pow(2).mean()
    loss.backward()
    w.data.add_(w.grad, alpha=-0.1)
    w.grad.zero_()

w = torch.zeros(3, 1, requires_grad=True)
for _ in range(4):
    (x @ w - y).pow(2).mean().backward()
    w = (w - 0.1 * w.grad).detach().requires_grad_()
print(loss.item())
