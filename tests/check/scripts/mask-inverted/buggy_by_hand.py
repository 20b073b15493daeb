"""Scores of the tokens are filled with -1e9, those of the padding are kept."""

import torch
from torch import nn

torch.manual_seed(0)
embed, query, head = nn.Embedding(12, 8), nn.Linear(8, 1), nn.Linear(8, 2)
parts = nn.ModuleList([embed, query, head])
optimizer = torch.optim.Adam(parts.parameters(), lr=1e-3)
for step in range(5):
    tokens = torch.randint(1, 12, (8, 9))
    lengths = torch.randint(3, 9, (8,))
    valid = torch.arange(9) < lengths[:, None]  # <- finding
    tokens = tokens * valid
    hidden = embed(tokens)
    scores = query(hidden).squeeze(-1).masked_fill(valid, -1e9)
    pooled = (scores.softmax(-1)[..., None] * hidden).sum(1)
    loss = nn.functional.cross_entropy(head(pooled), (tokens == 2).any(1).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
