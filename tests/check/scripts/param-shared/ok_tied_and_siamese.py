"""Sharing on purpose: tied weights, one encoder for two inputs, one layer applied again and again."""

import torch
import torch.nn.functional as F
from torch import nn


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(12, 6)
        self.step = nn.GRUCell(6, 6)
        self.decoder = nn.Linear(6, 12, bias=False)
        self.decoder.weight = self.embedding.weight

    def forward(self, tokens):
        h = torch.zeros(len(tokens), 6)
        for t in range(tokens.shape[1]):
            h = self.step(self.embedding(tokens[:, t]), h)
        return self.decoder(h)


torch.manual_seed(0)
model, twin = Tied(), nn.Sequential(nn.Linear(3, 8), nn.Tanh())
optimizer = torch.optim.Adam([*model.parameters(), *twin.parameters()], lr=0.01)
for _ in range(3):
    tokens = torch.randint(0, 12, (4, 5))
    a, b = twin(torch.randn(4, 3)), twin(torch.randn(4, 3))
    loss = F.cross_entropy(model(tokens), tokens[:, -1]) + F.cosine_embedding_loss(a, b, torch.ones(4))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
