"""Gradient descent by hand, without clearing the gradients."""

import torch

torch.manual_seed(0)
x = torch.randn(50, 2)
y = x @ torch.tensor([2.0, -1.0])
w = torch.zeros(2, requires_grad=True)
for step in range(5):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()  # <- finding
    with torch.no_grad():
        w -= 0.05 * w.grad
print(w)
