"""Gradients zeroed through `.data` and `detach()`, as old programs do it."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    loss = (net(torch.randn(4, 3)) - 1).pow(2).mean()
    loss.backward()
    opt.step()
    for p in net.parameters():
        p.grad.detach().zero_()

w = torch.zeros(3, requires_grad=True)
for _ in range(4):
    (torch.randn(4, 3) @ w - 1).pow(2).mean().backward()
    w.data -= 0.1 * w.grad.data
    w.grad.data.zero_()
print(loss.item(), w.norm().item())
