"""Single-head self-attention which must fetch the marked token's value."""
import math
import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)

    def forward(self, x):                                  # (batch, time, dim)
        scores = self.q(x) @ self.k(x).transpose(1, 2) / math.sqrt(x.shape[-1])
        weights = torch.softmax(scores, dim=2)
        return weights @ self.v(x), weights


class Reader(nn.Module):
    def __init__(self, n_symbols=6, dim=24):
        super().__init__()
        self.embed = nn.Embedding(n_symbols, dim)
        self.mark = nn.Embedding(2, dim)
        self.attn = SelfAttention(dim)
        self.out = nn.Linear(dim, n_symbols)

    def forward(self, tokens, marks):
        h, w = self.attn(self.embed(tokens) + self.mark(marks))
        return self.out(h[:, -1]), w


def batch(n, t=10):
    tokens = torch.randint(0, 6, (n, t))
    where = torch.randint(0, t - 1, (n,))
    marks = torch.zeros(n, t, dtype=torch.long)
    marks[torch.arange(n), where] = 1
    return tokens, marks, tokens[torch.arange(n), where]


torch.manual_seed(0)
net = Reader()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(400):
    tok, mk, y = batch(64)
    logits, _ = net(tok, mk)
    loss = nn.functional.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 99:
        print(f"step {step + 1} loss {loss.item():.3f}")
with torch.no_grad():
    tok, mk, y = batch(1000)
    logits, w = net(tok, mk)
print(f"accuracy {(logits.argmax(1) == y).float().mean():.3f}; "
      f"attention mass of a query lies in [{w.sum(-1).min():.2f}, {w.sum(-1).max():.2f}]")
