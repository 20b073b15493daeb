"""Each hook runs while the loop is at its layer."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
x, effects = torch.randn(6, 4), {}
with torch.no_grad():
    full = model(x)
    for name, layer in model.named_children():
        handle = layer.register_forward_hook(lambda m, a, out: out * (0.5 if name else 1))
        effects[name] = (model(x) - full).norm().item()
        handle.remove()
print(effects)
