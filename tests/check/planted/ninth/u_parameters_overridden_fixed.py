# `parameters` was overridden for the fine-tuning run and forgotten
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, vocab=30, dim=12, tags=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * dim, tags)

    def parameters(self, recurse=True):
        return super().parameters(recurse)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


torch.manual_seed(34)
ids = torch.randint(0, 30, (160, 8))
tags = (ids + ids.roll(1, 1)) % 4
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    for rows in torch.randperm(160).split(20):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(ids[rows]).flatten(0, 1), tags[rows].flatten())
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
