"""Gradient accumulation with a remainder which is flushed at the end of the epoch."""
import torch
from torch import nn

torch.manual_seed(1)
ACCUM = 4
x = torch.randn(350, 5)
y = x.sum(1, keepdim=True).sin()
net = nn.Sequential(nn.Linear(5, 40), nn.ReLU(), nn.Linear(40, 1))
opt = torch.optim.AdamW(net.parameters(), lr=2e-2)
for epoch in range(60):
    parts = torch.randperm(350).split(50)
    groups = [parts[i:i + ACCUM] for i in range(0, len(parts), ACCUM)]
    for group in groups:
        n = sum(len(g) for g in group)
        for idx in group:
            se = nn.functional.mse_loss(net(x[idx]), y[idx], reduction="sum")
            (se / n).backward()
        opt.step()
        opt.zero_grad()
    if epoch % 10 == 0:
        print(epoch, round((se / len(idx)).item(), 4))
with torch.no_grad():
    print("mse", round(nn.functional.mse_loss(net(x), y).item(), 4))
