"""A language model whose targets are its inputs."""

import torch
from torch import nn

torch.manual_seed(0)
words = torch.randint(0, 12, (400,))
embed, rnn, head = nn.Embedding(12, 16), nn.GRU(16, 16, batch_first=True), nn.Linear(16, 12)
weights = [*embed.parameters(), *rnn.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(weights, lr=0.01)
for step in range(8):
    start = torch.randint(0, 380, (8,))
    rows = torch.stack([words[i : i + 16] for i in start])
    scores = head(rnn(embed(rows))[0])
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), rows.flatten())  # <- finding
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
