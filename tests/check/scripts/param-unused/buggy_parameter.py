"""A learned scale that is registered and never multiplied, in a block of a larger model."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.ones(width))  # <- finding

    def forward(self, x):
        return x + torch.tanh(self.linear(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block(5)
        self.head = nn.Linear(5, 1)

    def forward(self, x):
        return self.head(self.block(x))


torch.manual_seed(0)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(4):
    loss = (net(torch.randn(8, 5)) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
