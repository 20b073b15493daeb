"""A helper zeroes gradients through `.data`, and is called at the wrong place."""

import torch
from torch import nn


def clear(parameters):
    for p in parameters:
        if p.grad is not None:
            p.grad.data.zero_()  # <- finding


torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    loss = (net(torch.randn(4, 3)) - 1).pow(2).mean()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    clear(net.parameters())
    opt.step()
print(loss.item())
