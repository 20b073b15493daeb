"""A deep network of matrices by hand, saturated tanh, updates by hand."""

import torch

torch.manual_seed(0)
sizes = [4] + [12] * 9 + [1]
weights = [(torch.randn(a, b) * 0.08).requires_grad_() for a, b in zip(sizes, sizes[1:])]  # <- finding
biases = [torch.zeros(b, requires_grad=True) for b in sizes[1:]]
x = torch.randn(32, 4)
y = x.sum(dim=1, keepdim=True).sin()
for step in range(5):
    h = x
    for w, b in zip(weights[:-1], biases[:-1]):
        h = torch.tanh(h @ w + b)
    loss = ((h @ weights[-1] + biases[-1] - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in [*weights, *biases]:
            p -= 0.1 * p.grad
            p.grad = None
    print(step, loss.item())
