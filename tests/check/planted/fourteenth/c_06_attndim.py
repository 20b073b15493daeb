import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, dim, heads, max_len):
        super().__init__()
        self.h = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.register_buffer("mask", torch.tril(torch.ones(max_len, max_len)).bool())

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (u.view(b, t, self.h, c // self.h).transpose(1, 2) for u in (q, k, v))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(c // self.h)
        att = att.masked_fill(~self.mask[:t, :t], float("-inf"))
        att = F.softmax(att, dim=2)  # BUG softmax-wrong-dim
        y = (att @ v).transpose(1, 2).reshape(b, t, c)
        return self.proj(y)


class Block(nn.Module):
    def __init__(self, dim, heads, max_len):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = CausalSelfAttention(dim, heads, max_len)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class TinyLM(nn.Module):
    def __init__(self, vocab=12, dim=32, max_len=16):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(max_len, dim) * 0.1)
        self.blocks = nn.Sequential(*[Block(dim, 2, max_len) for _ in range(2)])
        self.head = nn.Linear(dim, vocab)

    def forward(self, idx):
        x = self.tok(idx) + self.pos[: idx.shape[1]]
        return self.head(self.blocks(x))


def copy_batch(bs, half=7):
    a = torch.randint(1, 12, (bs, half))
    return torch.cat([a, torch.zeros(bs, 1, dtype=torch.long), a], dim=1)


torch.manual_seed(5)
model = TinyLM()
opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
for step in range(180):
    seq = copy_batch(32)
    logits = model(seq[:, :-1])
    loss = F.cross_entropy(logits[:, 7:].reshape(-1, 12), seq[:, 8:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(step, round(loss.item(), 3))

model.eval()
with torch.no_grad():
    seq = copy_batch(200)
    out = seq[:, :8]
    for _ in range(7):
        out = torch.cat([out, model(out)[:, -1:].argmax(-1)], dim=1)
print("final copy acc %.3f" % (out[:, 8:] == seq[:, 8:]).float().mean().item())
