"""Targets are shifted and attention is causal, with a mask of either form."""

import torch
from torch import nn

torch.manual_seed(0)
embed, head = nn.Embedding(10, 16), nn.Linear(16, 10)
layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
weights = [*embed.parameters(), *head.parameters(), *layer.parameters()]
optimizer = torch.optim.Adam(weights, lr=0.01)
mask = nn.Transformer.generate_square_subsequent_mask(12)
for step in range(8):
    rows = torch.randint(0, 10, (16, 13))
    x = layer(embed(rows[:, :-1]), src_mask=mask)
    x = x + nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
    loss = nn.functional.cross_entropy(head(x).reshape(-1, 10), rows[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
