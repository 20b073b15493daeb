"""Means of several tasks with a weight for each, fixed ones and learned ones."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(30, 4)
targets = torch.stack([x.sum(1), x[:, 0], x[:, 1] - x[:, 2]])
model, logs = nn.Linear(4, 3), nn.Parameter(torch.zeros(3))
fixed = torch.tensor([1.0, 0.5, 2.0])
optimizer = torch.optim.Adam([*model.parameters(), logs], lr=1e-2)
for _ in range(5):
    optimizer.zero_grad()
    out = model(x)
    losses = torch.stack(
        [nn.functional.mse_loss(out[:, k], targets[k]) for k in range(3)]
    )
    loss = (fixed * losses * torch.exp(-logs) + logs).sum()
    loss.backward()
    optimizer.step()
print(loss.item())
