"""Additive attention over the words of a sentence."""

import torch
from torch import nn


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, dim)
        self.query = nn.Linear(dim, 1, bias=False)

    def forward(self, h):
        scores = self.query(torch.tanh(self.proj(h)))  # (batch, words, 1)
        weights = torch.softmax(scores, dim=-1)  # BUG softmax-wrong-dim
        return (weights * h).sum(dim=1)


class Sentiment(nn.Module):
    def __init__(self, vocab=80, dim=20):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.pool = AttentionPool(dim)
        self.out = nn.Linear(dim, 2)

    def forward(self, ids):
        return self.out(self.pool(self.embed(ids)))


torch.manual_seed(37)
model = Sentiment()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(30):
    ids = torch.randint(0, 80, (32, 11))
    y = (ids < 8).any(1).long()
    loss = nn.functional.cross_entropy(model(ids), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
