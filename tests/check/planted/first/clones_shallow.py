"""Small GPT-like language model with layers cloned from a prototype."""
import copy
import torch
from torch import nn
import torch.nn.functional as F


def clones(module, n):
    return nn.ModuleList([copy.copy(module) for _ in range(n)])  # BUG param-shared


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.h = h

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.h, -1).transpose(1, 2) for z in self.qkv(self.ln1(x)).chunk(3, -1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.ff(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, v, d=32, n=3, ctx=16):
        super().__init__()
        self.tok = nn.Embedding(v, d)
        self.pos = nn.Embedding(ctx, d)
        self.blocks = clones(Block(d, 4), n)
        self.head = nn.Linear(d, v)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        for blk in self.blocks:
            x = blk(x)
        return self.head(x)


torch.manual_seed(0)
model = GPT(10)
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(150):
    start = torch.randint(0, 10, (16, 1))
    stride = torch.randint(1, 4, (16, 1))
    seq = (start + stride * torch.arange(17)) % 10
    logits = model(seq[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), seq[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "params", sum(p.numel() for p in model.parameters()))
