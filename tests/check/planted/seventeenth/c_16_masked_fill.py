import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(15)


class CausalAttention(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        mask = torch.tril(torch.ones(t, t))
        scores = scores.masked_fill(mask == 0, 1e-9)  # BUG mask-without-effect
        att = F.softmax(scores, dim=-1)
        return self.out((att @ v).transpose(1, 2).reshape(b, t, d))


class LM(nn.Module):
    def __init__(self, vocab, dim=32, length=16):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(length, dim)
        self.att = CausalAttention(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))
        self.head = nn.Linear(dim, vocab)

    def forward(self, x):
        h = self.tok(x) + self.pos(torch.arange(x.shape[1]))
        h = h + self.att(h)
        return self.head(h + self.mlp(h))


vocab = 10
model = LM(vocab)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(150):
    seq = torch.randint(0, vocab, (32, 17))
    seq[:, 1::2] = (seq[:, 0:-1:2] + 3) % vocab
    logits = model(seq[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, vocab), seq[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print(step, loss.item())
