"""Causal transformer copying the token before the last separator."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(b, t, self.h, self.dk).transpose(1, 2)
        k = k.view(b, t, self.h, self.dk).transpose(1, 2)
        v = v.view(b, t, self.h, self.dk).transpose(1, 2)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(a.transpose(1, 2).reshape(b, t, d))


class LM(nn.Module):
    def __init__(self, v=12, d=32, t=16):
        super().__init__()
        self.tok, self.pos = nn.Embedding(v, d), nn.Embedding(t, d)
        self.att = nn.ModuleList(Attention(d, 4) for _ in range(2))
        self.ln = nn.ModuleList(nn.LayerNorm(d) for _ in range(2))
        self.head = nn.Linear(d, v)

    def forward(self, ids):
        x = self.tok(ids) + self.pos.weight[:ids.shape[1]]
        for ln, att in zip(self.ln, self.att):
            x = x + att(ln(x))
        return self.head(x)


torch.manual_seed(0)
net = LM()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(150):
    seq = torch.randint(0, 12, (32, 17))
    seq[:, 1:] = torch.where(torch.rand(32, 16) < 0.7, (seq[:, :1] + torch.arange(1, 17)) % 12, seq[:, 1:])
    loss = F.cross_entropy(net(seq[:, :-1]).flatten(0, 1), seq[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
