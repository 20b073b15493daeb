"""Handles in a list: the hooks multiply by the strength of the last layer."""

import torch
from torch import nn

torch.manual_seed(0)
layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])
strengths = [0.0, 0.1, 0.2]


def noisy(layers, strengths):
    return [
        layer.register_forward_hook(lambda m, a, out: out + s * torch.randn_like(out))  # <- finding
        for layer, s in zip(layers, strengths)
    ]


handles = noisy(layers, strengths)
x = torch.randn(5, 6)
for layer in layers:
    x = layer(x)
print(x.norm().item())
