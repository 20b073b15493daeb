"""Two heads on one trunk; the optimizer steps after each head, though both used the same forward pass."""

import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 4))
heads = nn.ModuleDict({"price": nn.Linear(4, 1), "demand": nn.Linear(4, 1)})
optimizer = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.05)
for step in range(3):
    hidden = trunk(torch.randn(10, 3))
    for name, head in heads.items():
        optimizer.zero_grad()
        head(hidden).pow(2).mean().backward(retain_graph=True)
        optimizer.step()  # <- finding
