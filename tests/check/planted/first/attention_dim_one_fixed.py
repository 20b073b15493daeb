"""Transformer encoder block written by hand: find the rare symbol."""
import math
import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d=32, h=4):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))

    def split(self, x):
        b, t, d = x.shape
        return x.view(b, t, self.h, d // self.h).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        attn = torch.softmax(scores, dim=-1)
        out = (attn @ v).transpose(1, 2).flatten(2)
        return self.o(out)


class Model(nn.Module):
    def __init__(self, v=9, t=10, d=32):
        super().__init__()
        self.tok = nn.Embedding(v, d)
        self.pos = nn.Parameter(0.1 * torch.randn(t, d))
        self.attn = SelfAttention(d)
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, 4)

    def forward(self, ids):
        x = self.tok(ids) + self.pos
        x = self.norm(x + self.attn(x))
        return self.head(x[:, 0])


def batch(n):
    """one position holds a symbol below 4, the others are filler; answer: that symbol"""
    ids = torch.randint(4, 9, (n, 10))
    y = torch.randint(0, 4, (n,))
    ids[torch.arange(n), torch.randint(1, 10, (n,))] = y
    return ids, y


torch.manual_seed(0)
net = Model()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(200):
    ids, y = batch(48)
    loss = nn.functional.cross_entropy(net(ids), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "acc", (net(ids).argmax(1) == y).float().mean().item())
