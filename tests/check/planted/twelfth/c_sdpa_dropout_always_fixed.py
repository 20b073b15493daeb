"""A small causal transformer with PyTorch's own attention function."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd=32, n_head=4, dropout=0.1):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.n_head, self.dropout = n_head, dropout

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (
            t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
            for t in self.c_attn(x).split(C, dim=2)
        )
        p = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(B, T, C))


class GPT(nn.Module):
    def __init__(self, vocab=24, n_embd=32):
        super().__init__()
        self.wte = nn.Embedding(vocab, n_embd)
        self.wpe = nn.Embedding(16, n_embd)
        self.ln = nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab)

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        return self.lm_head(x + self.attn(self.ln(x)))


def get_batch(g):
    start = torch.randint(0, 24, (16, 1), generator=g)
    seq = (start + 3 * torch.arange(17)) % 24
    return seq[:, :-1], seq[:, 1:]


torch.manual_seed(20)
g = torch.Generator().manual_seed(1)
model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for it in range(30):
    if it % 10 == 0:
        model.eval()
        with torch.no_grad():
            xv, yv = get_batch(g)
            val = F.cross_entropy(model(xv).flatten(0, 1), yv.flatten())
        print(f"iter {it}: val {val.item():.3f}")
        model.train()
    xb, yb = get_batch(g)
    loss = F.cross_entropy(model(xb).flatten(0, 1), yb.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
