"""A causal mask for scaled_dot_product_attention, where True means seen, given to a module."""

import torch
from torch import nn

torch.manual_seed(0)
attention = nn.MultiheadAttention(8, 2, batch_first=True)
optimizer = torch.optim.Adam(attention.parameters(), lr=1e-3)
seen = torch.ones(6, 6).tril().bool()
for step in range(5):
    x = torch.randn(4, 6, 8)
    out, _ = attention(x, x, x, attn_mask=seen, need_weights=False)  # <- finding
    loss = nn.functional.mse_loss(out[:, :-1], x[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
