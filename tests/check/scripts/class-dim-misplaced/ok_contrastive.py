"""A similarity matrix, whose rows and columns are both classified: argmax along either axis is right."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
image, text = nn.Linear(6, 4), nn.Linear(5, 4)
optimizer = torch.optim.Adam([*image.parameters(), *text.parameters()], lr=0.01)
a, b = torch.randn(8, 6), torch.randn(8, 5)
labels = torch.arange(8)
for _ in range(3):
    logits = F.normalize(image(a), dim=-1) @ F.normalize(text(b), dim=-1).T * 10
    loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    found = (logits.argmax(dim=1) == labels).float().mean() + (logits.argmax(dim=0) == labels).float().mean()
print(loss.item(), found.item())
