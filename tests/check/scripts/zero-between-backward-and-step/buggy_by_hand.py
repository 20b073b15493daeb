"""An update by hand after the gradients were zeroed in place."""

import torch

torch.manual_seed(0)
x = torch.randn(50, 3)
y = x @ torch.tensor([1.0, -2.0, 0.5])
w = torch.zeros(3, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for step in range(5):
    loss = ((x @ w + b - y) ** 2).mean()
    loss.backward()
    for p in (w, b):
        p.grad.zero_()  # <- finding
        with torch.no_grad():
            p -= 0.1 * p.grad
print(loss.item())
