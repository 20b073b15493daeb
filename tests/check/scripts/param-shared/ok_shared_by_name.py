"""Sharing that its names speak of: one shared block at all depths, one relative bias given to every layer, one critic with two names."""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.bias = bias
        self.linear = nn.Linear(6, 6)

    def forward(self, x):
        return x + self.linear(x) + self.bias(x)


class Universal(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        shared = nn.Linear(6, 6)
        self.depths = nn.ModuleList([shared] * depth)
        bias = nn.Linear(6, 1)
        self.layers = nn.ModuleList([Layer(bias) for _ in range(depth)])

    def forward(self, x):
        for depth, layer in zip(self.depths, self.layers):
            x = layer(torch.tanh(depth(x)))
        return x


torch.manual_seed(0)
model = Universal()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(3):
    optimizer.zero_grad()
    loss = (model(torch.randn(8, 6)) - 1).pow(2).mean()
    loss.backward()
    optimizer.step()
print(loss.item())
