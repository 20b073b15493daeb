"""Attention over the samples on purpose: they are the sequence of a batch of one."""

import torch
from torch import nn

torch.manual_seed(0)
embed, head = nn.Linear(3, 8), nn.Linear(8, 1)
attention = nn.MultiheadAttention(8, 2)
parts = nn.ModuleList([embed, attention, head])
optimizer = torch.optim.Adam(parts.parameters(), lr=1e-2)
x = torch.randn(64, 3)
y = x.sum(1, keepdim=True)
for rows in torch.randperm(64).split(16):
    hidden = embed(x[rows])[:, None]
    mixed, _ = attention(hidden, hidden, hidden)
    loss = nn.functional.mse_loss(head(mixed[:, 0]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
