"""Padding that is ignored, with the default number and with another one; smoothed and soft labels."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model, tagger = nn.Linear(5, 3), nn.Linear(5, 1)
optimizer = torch.optim.SGD([*model.parameters(), *tagger.parameters()], lr=0.1)
x = torch.randn(12, 5)
y = torch.randint(0, 3, (12,))
y[::4] = -100
other = torch.where(y == -100, torch.tensor(255), y)
smooth = torch.randint(0, 2, (12, 1)).float() * 0.9 + 0.05
for _ in range(3):
    loss = F.cross_entropy(model(x), y) + F.cross_entropy(model(x), other, ignore_index=255, label_smoothing=0.1)
    loss = loss + F.binary_cross_entropy_with_logits(tagger(x), smooth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
