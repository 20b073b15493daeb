"""The helper's softmax goes over the last axis."""

import torch
from torch import nn


def masked_softmax(score, keep, dim=-1):
    score = score.masked_fill(~keep, -1e4)
    return torch.softmax(score, dim)


class Lookup(nn.Module):
    """Each query reads the values of the keys that match it."""

    def __init__(self, symbols=6, dim=24):
        super().__init__()
        self.q = nn.Embedding(symbols, dim)
        self.k = nn.Embedding(symbols, dim)
        self.scale = dim**-0.5

    def forward(self, query, key, value, keep):
        score = self.q(query) @ self.k(key).transpose(1, 2) * self.scale
        weight = masked_softmax(score, keep.unsqueeze(1).expand_as(score))
        return (weight @ value.unsqueeze(-1)).squeeze(-1), weight


def sample(n):
    key = torch.stack([torch.randperm(6) for _ in range(n)])
    value = torch.randn(n, 6)
    keep = torch.ones(n, 6, dtype=torch.bool)
    keep[:, 5] = torch.rand(n) < 0.5
    slot = torch.randint(0, 5, (n, 9))
    return key.gather(1, slot), key, value, keep, value.gather(1, slot)


torch.manual_seed(0)
net = Lookup()
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
for step in range(200):
    query, key, value, keep, target = sample(64)
    out, w = net(query, key, value, keep)
    loss = nn.functional.mse_loss(out, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 4))
print("loss", round(loss.item(), 4))
print("weights of a query sum to", round(w.sum(-1).min().item(), 3), "..", round(w.sum(-1).max().item(), 3))
