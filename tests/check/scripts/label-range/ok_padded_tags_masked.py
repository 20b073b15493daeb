"""Losses of padded places are multiplied by zero."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
tokens = torch.randint(1, 15, (120, 10))
for row, n in enumerate(torch.randint(3, 11, (120,)).tolist()):
    tokens[row, n:] = 0
tags = torch.where(tokens > 0, tokens % 3, 0)
embed, layer = nn.Embedding(15, 12, padding_idx=0), nn.Linear(12, 3)
optimizer = torch.optim.Adam([*embed.parameters(), *layer.parameters()], lr=5e-3)
for epoch in range(3):
    for rows in torch.randperm(120).split(30):
        scores = layer(embed(tokens[rows]))
        each = F.cross_entropy(scores.view(-1, 3), tags[rows].view(-1), reduction="none")
        real = (tokens[rows] > 0).view(-1).float()
        loss = (each * real).sum() / real.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
