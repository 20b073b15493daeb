"""Repeated indices that are set to a value, and a sum with another tensor's entries."""

import torch
from torch import nn

torch.manual_seed(0)
words = torch.randint(0, 12, (16, 5))
used = torch.zeros(12)
offset = torch.randn(12)
table = torch.zeros(12)
model = nn.EmbeddingBag(12, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for _ in range(3):
    used[words] = 1.0
    table[words] = offset[words] + 1
    loss = nn.functional.cross_entropy(model(words), words[:, 0] % 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(used.sum().item(), table.sum().item())
