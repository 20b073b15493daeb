"""A deep network for two rings."""

import torch
from torch import nn


def deep(inputs, width, depth, outputs):
    layers = [nn.Linear(inputs, width)]
    for _ in range(depth):
        layers += [nn.ReLU(), nn.Linear(width, width)]
    layers += [nn.ReLU(), nn.Linear(width, outputs)]
    return nn.Sequential(*layers)


torch.manual_seed(0)
model = deep(2, 32, 9, 2)
for m in model:
    if isinstance(m, nn.Linear):
        nn.init.kaiming_normal_(m.weight)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(40):
    x = torch.randn(64, 2) * 1.5
    y = (x.norm(dim=1) > 1.6).long()
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 3), "first gradient", model[0].weight.grad.abs().max().item())
