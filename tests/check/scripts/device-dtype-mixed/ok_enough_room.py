"""Integers that stay in their range, a mask of truth values turned around, a sum in float32, casts that keep what matters."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
images = torch.randint(0, 256, (64, 6), dtype=torch.uint8)
inverted = 255 - images
keep = torch.rand(64, 6) > 0.2
x = (inverted.float() - 128) / 128 * (~keep).logical_not().float()
counts = torch.zeros(3, dtype=torch.uint8)
counts += 2
bins = (torch.rand(64) * 4).long()
scale = torch.from_numpy(np.ones(1)).float()
y = (images.float().mean(1, keepdim=True) > 128).float()
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = torch.zeros(())
for _ in range(4):
    loss = nn.functional.binary_cross_entropy_with_logits(model(x) * scale, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.detach()
print(total.item(), bins.max().item(), counts.tolist())
