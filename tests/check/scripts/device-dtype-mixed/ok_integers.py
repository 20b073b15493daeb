"""Integers and masks beside floats: class numbers as numbers, counts, whole floats written into integers."""

import torch
from torch import nn

torch.manual_seed(0)
x, level = torch.randn(16, 4), torch.randint(0, 5, (16, 1))
lengths = torch.randint(1, 4, (16, 1))
ids = torch.zeros(16, dtype=torch.long)
ids[:4] = torch.arange(4).float()
ids[4:] = 2.0
model, table = nn.Linear(4, 1), nn.Embedding(5, 1)
optimizer = torch.optim.SGD([*model.parameters(), *table.parameters()], lr=0.05)
for _ in range(4):
    out = model(x) / lengths + table(ids)
    loss = nn.functional.mse_loss(out, level) + (out * (level > 2)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
