"""Twelve plain layers with weights scaled for their activation, and a different rate for each half."""

import torch
from torch import nn

torch.manual_seed(0)
layers = []
for i in range(11):
    layer = nn.Linear(10 if i == 0 else 24, 24)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    nn.init.zeros_(layer.bias)
    layers += [layer, nn.ReLU()]
model = nn.Sequential(*layers, nn.Linear(24, 1))
optimizer = torch.optim.Adam([{"params": model[:12].parameters(), "lr": 1e-4}, {"params": model[12:].parameters(), "lr": 1e-3}])
x = torch.randn(48, 10)
y = x.abs().mean(dim=1, keepdim=True)
for step in range(5):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
