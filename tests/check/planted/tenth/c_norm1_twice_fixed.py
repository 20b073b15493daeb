"""A pre-norm transformer layer for a sorting task."""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.norm2 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.ff(self.norm2(x))


class Sorter(nn.Module):
    def __init__(self, vocab=8, dim=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(0.1 * torch.randn(6, dim))
        self.layer = Layer(dim, 2)
        self.out = nn.Linear(dim, vocab)

    def forward(self, t):
        return self.out(self.layer(self.emb(t) + self.pos))


torch.manual_seed(0)
model = Sorter()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(25):
    tokens = torch.randint(0, 8, (32, 6))
    target = tokens.sort(1).values
    loss = nn.functional.cross_entropy(model(tokens).transpose(1, 2), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 3), [n for n, p in model.named_parameters() if p.grad is None])
