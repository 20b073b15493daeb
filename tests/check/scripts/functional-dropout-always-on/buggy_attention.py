"""Attention by the function, with a dropout that is there in every mode."""

import torch
import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout, is_causal=True)  # <- finding
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 8)
        self.attention = SelfAttention(8, 2, 0.1)
        self.head = nn.Linear(8, 10)

    def forward(self, tokens):
        x = self.embedding(tokens)
        return self.head(x + self.attention(x))


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
tokens = torch.arange(9).repeat(4, 1)
for step in range(4):
    logits = model(tokens[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, 10), tokens[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    logits = model(tokens[:, :-1])
    print(F.cross_entropy(logits.reshape(-1, 10), tokens[:, 1:].reshape(-1)).item())
