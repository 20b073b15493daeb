"""A deep multilayer perceptron."""

import torch
from torch import nn


def block(n_in, n_out):
    return [nn.Linear(n_in, n_out), nn.LayerNorm(n_out), nn.ReLU()]


torch.manual_seed(29)
widths = [12] + [32] * 9
layers = []
for a, b in zip(widths, widths[1:]):
    layers += block(a, b)
model = nn.Sequential(*layers, nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
w = torch.randn(12, 3)
for step in range(60):
    x = torch.randn(64, 12)
    y = (x @ w).argmax(1)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(step, loss.item())
