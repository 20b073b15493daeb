"""An update by hand without no_grad."""

import torch

torch.manual_seed(0)
x = torch.randn(20, 3)
y = x.sum(1)
w = torch.zeros(3, requires_grad=True)
for _ in range(3):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    w -= 0.1 * w.grad  # <- finding
    w.grad = None
