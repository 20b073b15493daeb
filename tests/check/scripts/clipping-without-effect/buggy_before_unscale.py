"""Gradients are clipped while they are still multiplied by the scaler's factor."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(64, 4), torch.randn(64, 1)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for step in range(8):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(x)
    loss = nn.functional.mse_loss(out.float(), y)
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <- finding
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
print(loss.item())
