"""Sentence pairs: the encoder was frozen in a first experiment and is trained in this one."""

import torch
import torch.nn as nn


class PairModel(nn.Module):
    def __init__(self, vocab=50, dim=24):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.score = nn.Sequential(nn.Linear(4 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def encode(self, ids):
        with torch.no_grad():  # BUG gradient-cut
            _, h = self.encoder(self.embedding(ids))
        return h[-1]

    def forward(self, a, b):
        u, v = self.encode(a), self.encode(b)
        return self.score(torch.cat([u, v, (u - v).abs(), u * v], dim=1)).squeeze(-1)


torch.manual_seed(14)
model = PairModel()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(25):
    a = torch.randint(0, 50, (32, 7))
    same = torch.rand(32) < 0.5
    b = torch.where(same[:, None], a.flip(1), torch.randint(0, 50, (32, 7)))
    loss = nn.functional.binary_cross_entropy_with_logits(model(a, b), same.float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("final", loss.item())
