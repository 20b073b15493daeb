"""Vectors that are to be fine-tuned; `from_pretrained` freezes them when nobody says otherwise."""

import torch
from torch import nn


class Bag(nn.Module):
    def __init__(self, vectors):
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(vectors)  # <- finding
        self.fc = nn.Linear(vectors.shape[1], 2)

    def forward(self, ids):
        return self.fc(self.embedding(ids).mean(1))


torch.manual_seed(0)
model = Bag(torch.randn(20, 6))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(5):
    ids = torch.randint(0, 20, (8, 4))
    loss = nn.functional.cross_entropy(model(ids), ids[:, 0] % 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
