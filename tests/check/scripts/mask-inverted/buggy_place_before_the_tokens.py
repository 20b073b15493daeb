"""A place for the whole sequence comes before the tokens, and the mask is inverted."""

import torch
from torch import nn

torch.manual_seed(0)
embed, head = nn.Embedding(12, 8, padding_idx=0), nn.Linear(8, 2)
layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
whole = nn.Parameter(torch.zeros(1, 1, 8))
optimizer = torch.optim.Adam(
    [whole, *embed.parameters(), *head.parameters(), *layer.parameters()], lr=1e-3
)
for step in range(5):
    tokens = torch.randint(1, 12, (8, 9))
    tokens[torch.arange(9) >= torch.randint(3, 9, (8, 1))] = 0
    keep = tokens != 0  # <- finding
    mask = torch.cat([torch.zeros(8, 1, dtype=torch.bool), keep], dim=1)
    hidden = torch.cat([whole.expand(8, -1, -1), embed(tokens)], dim=1)
    out = layer(hidden, src_key_padding_mask=mask)
    loss = nn.functional.cross_entropy(head(out[:, 0]), (tokens == 2).any(1).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
