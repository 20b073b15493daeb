"""Scaled dot-product attention normalised over the queries instead of the keys."""

import math

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        weights = self.drop(torch.softmax(scores, dim=1))  # <- finding
        return torch.matmul(weights, v)


torch.manual_seed(0)
attention, head = SelfAttention(8), nn.Linear(8, 2)
optimizer = torch.optim.AdamW([*attention.parameters(), *head.parameters()], lr=1e-3)
x, y = torch.randn(4, 6, 8), torch.randint(0, 2, (4,))
for _ in range(3):
    out = head(attention(x).mean(dim=1))
    loss = nn.functional.cross_entropy(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
