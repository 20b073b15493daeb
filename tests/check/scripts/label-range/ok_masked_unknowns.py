"""Multi-label data where -1 means unknown: those entries are masked, by weight and after the loss."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Linear(6, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(16, 6)
y = torch.randint(-1, 2, (16, 4)).float()
known = (y >= 0).float()
for _ in range(3):
    each = F.binary_cross_entropy_with_logits(model(x), y, reduction="none")
    loss = (each * known).sum() / known.sum()
    loss = loss + F.binary_cross_entropy_with_logits(model(x), y, weight=known)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
