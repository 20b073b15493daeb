"""Weights by hand, one of which is missing in the optimizer's list; the data want a gradient for no good reason."""

import torch

torch.manual_seed(0)
W1 = torch.randn(3, 8, requires_grad=True)
b1 = torch.zeros(8, requires_grad=True)
W2 = torch.randn(8, 1, requires_grad=True)
optimizer = torch.optim.SGD([W1, b1], lr=0.01)  # <- finding
x, y = torch.randn(20, 3, requires_grad=True), torch.randn(20, 1)
for _ in range(5):
    loss = (torch.tanh(x @ W1 + b1) @ W2 - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
