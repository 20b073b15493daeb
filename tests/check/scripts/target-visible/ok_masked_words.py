"""Masked words are predicted from both sides, as BERT does."""

import torch
from torch import nn

torch.manual_seed(0)
embed, head = nn.Embedding(11, 16), nn.Linear(16, 11)
layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
weights = [*embed.parameters(), *head.parameters(), *layer.parameters()]
optimizer = torch.optim.Adam(weights, lr=0.01)
for step in range(8):
    rows = torch.randint(0, 10, (16, 12))
    hidden = torch.rand(rows.shape) < 0.2
    scores = head(layer(embed(rows.masked_fill(hidden, 10))))
    loss = nn.functional.cross_entropy(scores[hidden], rows[hidden])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
