# Attention pooling over words, with dropout on the weights
import torch
import torch.nn.functional as F
from torch import nn


class AttentionPool(nn.Module):
    def __init__(self, vocab, dim, classes, p=0.2):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.score = nn.Linear(dim, 1)
        self.out = nn.Linear(dim, classes)
        self.p = p

    def forward(self, ids):
        words = self.embedding(ids)
        weight = F.softmax(self.score(words), dim=1)
        weight = F.dropout(weight, self.p, self.training)
        return self.out((weight * words).sum(1))


torch.manual_seed(20)
ids = torch.randint(0, 40, (260, 7))
topic = (ids == 3).any(1).long() + (ids > 35).any(1).long()
model = AttentionPool(40, 16, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    model.train()
    for rows in torch.randperm(200).split(25):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids[rows]), topic[rows])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(epoch, (model(ids[200:]).argmax(1) == topic[200:]).float().mean().item())
