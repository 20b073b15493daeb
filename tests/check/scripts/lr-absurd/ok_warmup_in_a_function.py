"""A warmup that divides whole numbers."""

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

WARMUP = 30


def warmup(step):
    return min(1.0, (step + 1) / WARMUP)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ff = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.norm(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.ff(x)


class Model(nn.Module):
    def __init__(self, vocab=12, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.block = Attention(dim, 2)
        self.head = nn.Linear(dim, 2)

    def forward(self, tokens):
        return self.head(self.block(self.embed(tokens)).mean(1))


def main():
    torch.manual_seed(2)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = LambdaLR(optimizer, warmup)
    for step in range(60):
        tokens = torch.randint(0, 12, (32, 8))
        label = (tokens == 3).any(1).long()
        loss = nn.functional.cross_entropy(model(tokens), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 30 == 0:
            print(step, loss.item(), scheduler.get_last_lr()[0])


main()
