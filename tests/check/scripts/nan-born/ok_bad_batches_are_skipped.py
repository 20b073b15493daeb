"""Mixed precision and a guard: steps whose loss or gradients are not finite are left out."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(24, 4), torch.randn(24, 1)
x[5] = float("nan")
for i in range(0, 24, 4):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x[i : i + 4]), y[i : i + 4])
    if not torch.isfinite(loss):
        continue
    loss.backward()
    optimizer.step()
for step in range(4):
    optimizer.zero_grad()
    scale = 1e38 if step == 1 else 1.0
    (scale * scale * nn.functional.mse_loss(model(x[:4]), y[:4])).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if norm.isfinite():
        optimizer.step()
print(model.weight.norm().item())
