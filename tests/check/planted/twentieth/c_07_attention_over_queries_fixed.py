"""Set classification by self-attention: which of the elements is the largest?"""
import math

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_k = nn.Linear(dim, dim, bias=False)
        self.to_v = nn.Linear(dim, dim, bias=False)
        self.proj = nn.Linear(dim, dim)

    def split(self, t):
        return t.unflatten(-1, (self.heads, self.head_dim)).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.to_q(x)), self.split(self.to_k(x)), self.split(self.to_v(x))
        logits = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(self.head_dim)
        weights = torch.softmax(logits, dim=3)
        mixed = torch.einsum("bhij,bhjd->bhid", weights, v)
        return self.proj(mixed.transpose(1, 2).flatten(2))


class Encoder(nn.Module):
    def __init__(self, dim=16, depth=2):
        super().__init__()
        self.embed = nn.Linear(1, dim)
        self.attn = nn.ModuleList(SelfAttention(dim, 4) for _ in range(depth))
        self.norm = nn.ModuleList(nn.LayerNorm(dim) for _ in range(depth))
        self.score = nn.Linear(dim, 1)

    def forward(self, x):
        h = self.embed(x.unsqueeze(-1))
        for attn, norm in zip(self.attn, self.norm):
            h = h + attn(norm(h))
        return self.score(h).squeeze(-1)


def batches(count, size=32, length=7):
    for _ in range(count):
        x = torch.rand(size, length)
        yield x, x.argmax(dim=1)


torch.manual_seed(0)
model = Encoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for i, (x, y) in enumerate(batches(50)):
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 10 == 0:
        print(i, f"{loss.item():.4f}")
