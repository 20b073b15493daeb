"""Targets that are not scaled make all gradients large, at every layer alike: no growth."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(16, 16), nn.Tanh())], nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(32, 16)
y = 3e4 + 1e4 * x[:, :1]
for step in range(5):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
