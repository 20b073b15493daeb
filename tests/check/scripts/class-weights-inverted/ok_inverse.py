"""Inverse counts, and negatives over positives."""

import torch
from torch import nn

torch.manual_seed(0)
y = (torch.rand(200) < 0.2).long()
x = torch.randn(200, 4) + y[:, None]
counts = torch.bincount(y).float()
weighted = nn.CrossEntropyLoss(weight=counts.sum() / counts)
binary = nn.BCEWithLogitsLoss(pos_weight=counts[0] / counts[1])
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(5):
    optimizer.zero_grad()
    out = model(x)
    loss = weighted(out[:, :2], y) + binary(out[:, 2], y.float())
    loss.backward()
    optimizer.step()
print(loss.item())
