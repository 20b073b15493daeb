"""A deep network for two rings."""

import torch
from torch import nn


def deep(inputs, width, depth, outputs):
    layers = [nn.Linear(inputs, width)]
    for _ in range(depth):
        layers += [nn.Sigmoid(), nn.Linear(width, width)]  # BUG vanishing-gradient
    layers += [nn.ReLU(), nn.Linear(width, outputs)]
    return nn.Sequential(*layers)


torch.manual_seed(0)
model = deep(2, 32, 9, 2)
initial = None
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(40):
    x = torch.randn(64, 2) * 1.5
    y = (x.norm(dim=1) > 1.6).long()
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 3), "first gradient", model[0].weight.grad.abs().max().item())
