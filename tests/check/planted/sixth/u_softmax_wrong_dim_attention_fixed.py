import math
import torch
import torch.nn as nn

torch.manual_seed(6)


class Attention(nn.Module):
    def __init__(self, dim, heads=2, axis=-1):
        super().__init__()
        self.heads, self.axis = heads, axis
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        att = (q @ k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        future = torch.ones(t, t, dtype=torch.bool).triu(1)
        att = att.masked_fill(future, -1e9).softmax(self.axis)
        self.last = att.detach()
        return self.proj((att @ v).transpose(1, 2).reshape(b, t, d))


class CopyLM(nn.Module):
    def __init__(self, vocab, dim=24, length=12):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(0.1 * torch.randn(length, dim))
        self.att = Attention(dim)
        self.out = nn.Linear(dim, vocab)

    def forward(self, t):
        h = self.tok(t) + self.pos
        return self.out(h + self.att(h))


def batch(n, length=12, vocab=10):
    t = torch.randint(0, vocab, (n, length))
    return t, t[:, :1].expand(n, length)  # every position must recall the first token


lm = CopyLM(10)
opt = torch.optim.Adam(lm.parameters(), lr=1e-2)
for it in range(150):
    t, y = batch(48)
    loss = nn.functional.cross_entropy(lm(t).transpose(1, 2), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 49:
        print(it + 1, round(loss.item(), 3))
t, y = batch(200)
acc = (lm(t).argmax(-1) == y)[:, 1:].float().mean().item()
print("recall", round(acc, 3), "weights of the last query sum to", round(lm.att.last[0, 0, -1].sum().item(), 3))
