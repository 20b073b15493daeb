"""Multi-head attention with einsum for the scores."""

import torch
import torch.nn as nn


class MultiHead(nn.Module):
    def __init__(self, dim=24, heads=4):
        super().__init__()
        self.heads, self.d = heads, dim // heads
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim) for _ in range(4))

    def split(self, x):
        b, n, _ = x.shape
        return x.view(b, self.heads, n, self.d)  # BUG reshape-not-transpose

    def forward(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        att = torch.einsum("bhqd,bhkd->bhqk", q, k).div(self.d**0.5).softmax(-1)
        out = torch.einsum("bhqk,bhkd->bqhd", att, v)
        return self.o(out.flatten(2))


torch.manual_seed(63)
embed, block, out = nn.Embedding(12, 24), MultiHead(), nn.Linear(24, 12)
modules = nn.ModuleList([embed, block, out])
opt = torch.optim.Adam(modules.parameters(), lr=3e-3)
for step in range(30):
    ids = torch.randint(0, 12, (16, 10))
    logits = out(block(embed(ids)))
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids.flip(1).flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
