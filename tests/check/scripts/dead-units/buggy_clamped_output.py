"""The output is clamped to a range that it never reaches, so the loss never moves."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.rand(32, 3)
y = torch.ones(32, 1)
for step in range(15):
    out = model(x)
    inside = torch.clamp(out, -50.0, -40.0)  # <- finding
    loss = ((inside - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
