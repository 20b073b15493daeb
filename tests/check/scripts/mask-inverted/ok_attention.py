"""Masks with the right meaning, in a module and in the function."""

import torch
from torch import nn

torch.manual_seed(0)
embed = nn.Embedding(15, 8, padding_idx=0)
attention, head = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 2)
parts = nn.ModuleList([embed, attention, head])
optimizer = torch.optim.Adam(parts.parameters(), lr=1e-3)
for step in range(5):
    tokens = torch.randint(1, 15, (8, 10))
    tokens[torch.arange(10) >= torch.randint(4, 10, (8, 1))] = 0
    x = embed(tokens)
    mixed, _ = attention(x, x, x, key_padding_mask=tokens == 0)
    q = mixed[:, None]
    again = nn.functional.scaled_dot_product_attention(
        q, q, q, attn_mask=(tokens != 0)[:, None, None]
    )
    loss = nn.functional.cross_entropy(head(again[:, 0, 0]), (tokens == 3).any(1).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
