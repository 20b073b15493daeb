"""Rates that decay from layer to layer by a tenth: those of the first layers change nothing."""

import torch
from torch import nn

torch.manual_seed(0)
layers = [nn.Linear(12, 12) for _ in range(7)]
model = nn.Sequential(*[part for layer in layers for part in (layer, nn.Tanh())], nn.Linear(12, 1))
groups = [{"params": layer.parameters(), "lr": 1e-3 * 0.1 ** (7 - k)} for k, layer in enumerate(layers)]
optimizer = torch.optim.AdamW([*groups, {"params": model[-1].parameters()}], lr=1e-3)  # <- finding
x = torch.randn(32, 12)
for step in range(16):
    loss = nn.functional.mse_loss(model(x), x[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
