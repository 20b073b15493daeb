"""Gradients set to None one by one, zeroed in place by hand, cleared through the model, and LBFGS with its closure."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(20, 3), torch.randn(20, 1)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(3):
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    for p in model.parameters():
        p.grad = None
for _ in range(3):
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    model.zero_grad(set_to_none=False)
w = torch.zeros(3, requires_grad=True)
for _ in range(3):
    loss = ((x @ w - y[:, 0]) ** 2).mean()
    loss.backward()
    w.data -= 0.1 * w.grad
    w.grad.zero_()
lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=4)


def closure():
    lbfgs.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


for _ in range(2):
    loss = lbfgs.step(closure)
print(loss.item())
