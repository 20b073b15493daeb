"""A hook that does the same everywhere, and one that looks at a list."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
sizes = []
for layer in model:
    layer.register_forward_hook(lambda m, a, out: sizes.append(tuple(out.shape)))
for p in model.parameters():
    p.register_hook(lambda g: g.clamp(-1, 1))
model(torch.randn(3, 4)).sum().backward()
print(sizes)
