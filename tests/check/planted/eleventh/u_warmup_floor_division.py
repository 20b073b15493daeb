"""Linear warm-up over the first hundred steps."""

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR


def warmup(steps):
    return lambda step: min(1.0, (step + 1) // steps)  # BUG lr-absurd


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = LambdaLR(opt, warmup(100))  # BUG lr-absurd
x = torch.randn(100, 4)
y = (x[:, 0] > x[:, 1]).long()
for epoch in range(12):
    for xb, yb in zip(x.split(20), y.split(20)):
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        scheduler.step()
print("loss", round(loss.item(), 3), "lr", scheduler.get_last_lr()[0])
