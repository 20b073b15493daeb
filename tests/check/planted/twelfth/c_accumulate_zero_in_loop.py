"""Gradient accumulation over four small batches."""

import torch
from torch import nn

ACCUM = 4
torch.manual_seed(26)
model = nn.Sequential(nn.Linear(9, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
direction = torch.randn(9)

for i in range(80):
    inputs = torch.randn(8, 9)
    targets = (inputs @ direction > 0).long()
    optimizer.zero_grad()  # BUG zero-between-backward-and-step
    loss = nn.functional.cross_entropy(model(inputs), targets) / ACCUM
    loss.backward()
    if (i + 1) % ACCUM == 0:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
print(f"{loss.item() * ACCUM:.4f}")
