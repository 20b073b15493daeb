"""Tags of padded places are left out by the default of ignore_index."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
tokens = torch.randint(1, 15, (120, 10))
for row, n in enumerate(torch.randint(3, 11, (120,)).tolist()):
    tokens[row, n:] = 0
tags = torch.where(tokens > 0, tokens % 3, -100)
embed, layer = nn.Embedding(15, 12, padding_idx=0), nn.Linear(12, 3)
optimizer = torch.optim.Adam([*embed.parameters(), *layer.parameters()], lr=5e-3)
for epoch in range(3):
    for rows in torch.randperm(120).split(30):
        scores = layer(embed(tokens[rows]))
        loss = F.cross_entropy(scores.view(-1, 3), tags[rows].view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
