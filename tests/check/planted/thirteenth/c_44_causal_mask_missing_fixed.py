from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class GPTConfig:
    vocab: int = 10
    block: int = 12
    dim: int = 32
    heads: int = 2
    layers: int = 2


class Block(nn.Module):
    def __init__(self, c: GPTConfig):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(c.dim), nn.LayerNorm(c.dim)
        self.qkv = nn.Linear(c.dim, 3 * c.dim)
        self.proj = nn.Linear(c.dim, c.dim)
        self.mlp = nn.Sequential(nn.Linear(c.dim, 4 * c.dim), nn.GELU(), nn.Linear(4 * c.dim, c.dim))
        self.heads = c.heads

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(self.ln1(x)).chunk(3, dim=-1))
        att = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(att.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, c: GPTConfig):
        super().__init__()
        self.tok, self.pos = nn.Embedding(c.vocab, c.dim), nn.Embedding(c.block, c.dim)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.ln = nn.LayerNorm(c.dim)
        self.head = nn.Linear(c.dim, c.vocab)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.size(1)))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x))


def progression(n, length):
    start, step = torch.randint(0, 10, (n, 1)), torch.randint(1, 4, (n, 1))
    return (start + step * torch.arange(length)) % 10


torch.manual_seed(123)
config = GPTConfig()
model = GPT(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for it in range(200):
    model.train()
    seq = progression(48, config.block + 1)
    logits = model(seq[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, config.vocab), seq[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 50 == 49:
        model.eval()
        with torch.no_grad():
            seq = progression(200, config.block)
            ids = seq[:, :4]
            while ids.size(1) < config.block:
                ids = torch.cat([ids, model(ids)[:, -1:].argmax(-1)], dim=1)
        print(f"iter {it + 1} loss {loss.item():.4f} continued right {(ids == seq)[:, 4:].float().mean().item():.3f}")
