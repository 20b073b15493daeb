"""Outer products and masks as transformers build them: a column against a row, both with their axes written out."""

import torch
from torch import nn

torch.manual_seed(0)
B, T, D = 3, 6, 8
q, k = nn.Linear(D, D), nn.Linear(D, D)
optimizer = torch.optim.Adam([*q.parameters(), *k.parameters()], lr=0.01)
x = torch.randn(B, T, D)
positions = torch.arange(T)
causal = positions.view(T, 1) >= positions.view(1, T)
lengths = torch.tensor([6, 4, 2])
padding = positions < lengths.unsqueeze(1)
frequencies = 1.0 / 10 ** torch.arange(0, D // 2)
angles = positions[:, None].float() * frequencies
for _ in range(4):
    scores = q(x) @ k(x).transpose(1, 2) / D**0.5
    scores = scores.masked_fill(~(causal & padding[:, None, :]), float("-inf"))
    loss = (scores.softmax(-1) ** 2).sum() + angles.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
