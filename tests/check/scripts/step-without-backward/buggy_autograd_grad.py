"""`autograd.grad` gives gradients and does not put them into the parameters."""

import torch
from torch import nn


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(0.1 * torch.randn(4, 1))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x @ self.weight + self.bias


torch.manual_seed(0)
x, y = torch.randn(20, 4), torch.randn(20, 1)
net = Regressor()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    opt.zero_grad()
    loss = (net(x) - y).abs().mean()
    gradients = torch.autograd.grad(loss, list(net.parameters()))
    opt.step()  # <- finding
print(loss.item(), len(gradients))
