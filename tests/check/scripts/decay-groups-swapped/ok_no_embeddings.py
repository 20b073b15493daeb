"""Embeddings without decay, everything else with it."""

import torch
from torch import nn

torch.manual_seed(0)
embed, head = nn.Embedding(9, 8), nn.Linear(8, 9)
optimizer = torch.optim.AdamW(
    [
        {"params": embed.parameters(), "weight_decay": 0.0},
        {"params": head.parameters(), "weight_decay": 0.1},
    ],
    lr=1e-2,
)
tokens = torch.randint(0, 9, (40,))
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(head(embed(tokens)), (tokens + 1) % 9)
    loss.backward()
    optimizer.step()
print(loss.item())
