import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MultiHeadAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def split(self, t):
        B, T, _ = t.shape
        return t.reshape(B, T, self.heads, self.head_dim).transpose(1, 2)

    def forward(self, x):
        B, T, D = x.shape
        q, k, v = (self.split(t) for t in self.qkv(x).chunk(3, dim=-1))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(self.head_dim)
        out = att.softmax(dim=-1) @ v
        return self.proj(out.transpose(1, 2).reshape(B, T, D))


class Encoder(nn.Module):
    def __init__(self, vocab, length, dim=32, heads=4):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(0.1 * torch.randn(length, dim))
        self.att = MultiHeadAttention(dim, heads)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.tok(ids) + self.pos
        return self.out(self.norm(x + self.att(x)))


def reversal(n, vocab=8, length=10):
    ids = torch.randint(0, vocab, (n, length))
    return ids, ids.flip(1)


model = Encoder(vocab=8, length=10)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(150):
    ids, target = reversal(64)
    logits = model(ids)
    loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step + 1} loss {loss.item():.4f}")

with torch.no_grad():
    ids, target = reversal(200)
    print("token accuracy", (model(ids).argmax(-1) == target).float().mean().item())
