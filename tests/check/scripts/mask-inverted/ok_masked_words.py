"""The loss is over the words that were replaced by one and the same token: that is meant."""

import torch
from torch import nn

torch.manual_seed(0)
MASK = 1
embed, mix, head = nn.Embedding(12, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 12)
parts = nn.ModuleList([embed, mix, head])
optimizer = torch.optim.Adam(parts.parameters(), lr=1e-3)
for step in range(5):
    words = torch.randint(2, 12, (8, 10))
    hidden = torch.rand(8, 10) < 0.3
    tokens = words.masked_fill(hidden, MASK)
    scores = head(mix(embed(tokens))[0])
    losses = nn.functional.cross_entropy(scores.transpose(1, 2), words, reduction="none")
    loss = (losses * hidden).sum() / hidden.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
