"""A language model whose probabilities are clamped, reshaped and cast on their way into the loss."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
vocabulary, batch, length = 11, 4, 7
embed, head = nn.Embedding(vocabulary, 8), nn.Linear(8, vocabulary)
optimizer = torch.optim.AdamW([*embed.parameters(), *head.parameters()], lr=0.01)
tokens = torch.randint(0, vocabulary, (batch, length + 1))
for _ in range(4):
    probs = head(embed(tokens[:, :-1])).softmax(dim=-1)  # <- finding
    probs = probs.clamp(min=1e-8).view(-1, vocabulary).float()
    loss = F.cross_entropy(probs, tokens[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
