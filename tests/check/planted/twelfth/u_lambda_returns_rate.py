"""Warm-up and inverse square root decay by LambdaLR."""

import torch
from torch import nn

BASE_LR, WARMUP = 2e-3, 20


def schedule(step):
    step = max(step, 1)
    return BASE_LR * min(step / WARMUP, (WARMUP / step) ** 0.5)  # BUG lr-absurd


torch.manual_seed(51)
model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=BASE_LR)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)  # BUG lr-absurd
w = torch.randn(10, 5)
for step in range(100):
    x = torch.randn(48, 10)
    loss = nn.functional.cross_entropy(model(x), (x @ w).argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
print(loss.item())
