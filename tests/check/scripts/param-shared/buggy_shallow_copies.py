"""Layers cloned with copy.copy, which copies the module and none of its parameters."""

import copy

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        return x + torch.tanh(self.fc(x))


def clones(module, n):
    return nn.ModuleList([copy.copy(module) for _ in range(n)])  # <- finding


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = clones(Block(4), 3)
        self.out = nn.Linear(4, 1)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.out(x)


torch.manual_seed(0)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for _ in range(5):
    x = torch.randn(16, 4)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
