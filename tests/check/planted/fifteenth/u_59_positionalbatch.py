"""Sequence classification with a transformer encoder."""
import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d, max_len=200):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        pe = torch.zeros(max_len, 1, d)
        pe[:, 0, 0::2] = torch.sin(pos * div)
        pe[:, 0, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:x.size(0)]  # BUG positions-of-the-batch|batch-first


class Classifier(nn.Module):
    def __init__(self, vocab=20, d=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.pos = PositionalEncoding(d)
        layer = nn.TransformerEncoderLayer(d, 2, 64, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 1)
        self.out = nn.Linear(d, 2)

    def forward(self, ids):
        h = self.enc(self.pos(self.embed(ids)))  # BUG positions-of-the-batch|batch-first
        return self.out(h.mean(dim=1))


def batch(n, length=10):
    ids = torch.randint(0, 20, (n, length))
    label = (ids[:, 0] < ids[:, -1]).long()
    return ids, label


torch.manual_seed(0)
model = Classifier()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
model.train()
for step in range(100):
    ids, label = batch(48)
    loss = nn.functional.cross_entropy(model(ids), label)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 24:
        print(step, loss.item())
