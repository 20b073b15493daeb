"""Logits into the loss; softmax only for showing probabilities."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Linear(5, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(20, 5), torch.randint(0, 3, (20,))
for _ in range(5):
    logits = model(x)
    loss = F.cross_entropy(logits, y)
    confidence = F.softmax(logits, dim=1).max(dim=1).values.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), confidence.item())
