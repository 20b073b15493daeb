"""Deep tanh network with a hand-written layer."""
import math

import torch
from torch import nn


class DenseTanh(nn.Module):
    def __init__(self, fan_in, fan_out, gain=1.0):
        super().__init__()
        self.weight = nn.Parameter(gain * torch.randn(fan_out, fan_in) / math.sqrt(fan_in))
        self.bias = nn.Parameter(torch.zeros(fan_out))

    def forward(self, x):
        return torch.tanh(x @ self.weight.t() + self.bias)


def build(depth, width, d_in, d_out):
    layers = [DenseTanh(d_in, width)]
    layers += [DenseTanh(width, width) for _ in range(depth - 1)]
    layers.append(nn.Linear(width, d_out))
    return nn.Sequential(*layers)


def spirals(n):
    t = torch.rand(n) * 3 + 0.5
    y = torch.randint(0, 2, (n,))
    a = 2 * t + math.pi * y
    return torch.stack([t * a.cos(), t * a.sin()], 1) + 0.05 * torch.randn(n, 2), y


def main():
    torch.manual_seed(0)
    x, y = spirals(600)
    x = (x - x.mean(0)) / x.std(0)
    model = build(4, 64, 2, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(10):
        total = 0.0
        for idx in torch.randperm(600).split(50):
            loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        if epoch % 3 == 0:
            print(epoch, total / 600)


main()
