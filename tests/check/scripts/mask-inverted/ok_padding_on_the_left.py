"""Padding on the left, a mean over the tokens, and a loss without the padding."""

import torch
from torch import nn

torch.manual_seed(0)
embed, head = nn.Embedding(12, 8), nn.Linear(8, 12)
parts = nn.ModuleList([embed, head])
optimizer = torch.optim.Adam(parts.parameters(), lr=1e-3)
for step in range(5):
    tokens = torch.randint(1, 12, (8, 10))
    tokens[torch.arange(10) < torch.randint(2, 6, (8, 1))] = 0
    mask = (tokens != 0).float()
    hidden = embed(tokens) * mask[..., None]
    mean = hidden.sum(1) / mask.sum(1, keepdim=True)
    scores = head(hidden + mean[:, None])
    losses = nn.functional.cross_entropy(
        scores[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none"
    )
    loss = (losses * mask[:, 1:]).sum() / mask[:, 1:].sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
