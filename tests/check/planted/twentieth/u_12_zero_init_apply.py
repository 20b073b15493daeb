"""Orbit classification with a zero-initialized MLP."""
import torch
import torch.nn.functional as F
from torch import nn


def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.zeros_(m.weight)  # BUG loss-at-chance
        nn.init.zeros_(m.bias)


class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.apply(init_weights)  # BUG loss-at-chance

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.tanh(layer(x))
        return self.layers[-1](x)


def orbits(n):
    energy = torch.randn(n)
    momentum = torch.rand(n) * 2
    label = (energy > 0).long() + ((energy > 0) & (momentum > 1)).long()
    noise = 0.05 * torch.randn(n, 2)
    features = torch.stack([energy, momentum], dim=1) + noise
    return torch.cat([features, features ** 2], dim=1), label


def fit(net, steps=60, batch=64):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    history = []
    for step in range(steps):
        x, y = orbits(batch)
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    return history


torch.manual_seed(0)
net = MLP([4, 24, 24, 3])
history = fit(net)
print("first", history[0], "last", history[-1])
