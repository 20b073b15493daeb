"""A sequence tagger whose scores (batch, time, classes) go into cross entropy as they are."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, words, tags):
        super().__init__()
        self.embed = nn.Embedding(words, 8)
        self.rnn = nn.GRU(8, 12, batch_first=True)
        self.out = nn.Linear(12, tags)

    def forward(self, tokens):
        states, _ = self.rnn(self.embed(tokens))
        return self.out(states)


torch.manual_seed(0)
model = Tagger(20, 5)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
tokens, tags = torch.randint(0, 20, (4, 7)), torch.randint(0, 5, (4, 7))
for _ in range(3):
    optimizer.zero_grad()
    loss = criterion(model(tokens), tags)  # <- finding
    loss.backward()
    optimizer.step()
