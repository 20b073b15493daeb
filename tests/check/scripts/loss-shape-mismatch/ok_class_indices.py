"""Cross entropy takes class numbers, which have one axis less than the scores."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
images, labels = torch.randn(16, 1, 8, 8), torch.randint(0, 4, (16,))
masks = torch.randint(0, 4, (16, 8, 8))
head, dense = nn.Sequential(nn.Flatten(), nn.Linear(64, 4)), nn.Conv2d(1, 4, 3, padding=1)
optimizer = torch.optim.SGD([*head.parameters(), *dense.parameters()], lr=0.1)
for _ in range(4):
    loss = F.cross_entropy(head(images), labels) + nn.CrossEntropyLoss()(dense(images), masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
