"""Norms of gradients by name, from hooks in a loop of the script."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
norms = {}
for name, p in model.named_parameters():
    p.register_hook(lambda g: norms.update({name: g.norm().item()}))  # <- finding
x = torch.randn(20, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), x[:, :1])
    loss.backward()
    optimizer.step()
print(norms)
