"""What is added to all tokens is an embedding of the sample's speaker."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.tokens = nn.Embedding(12, width)
        self.speakers = nn.Embedding(4, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, 2)

    def forward(self, ids):
        speaker = ids.sum(1) % 4
        h = self.tokens(ids) + self.speakers(speaker).unsqueeze(1)
        h = self.rnn(h)[0]
        return self.out(h[:, -1])


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(12):
    ids = torch.randint(0, 12, (24, 9))
    labels = (ids[:, -1] > 5).long()
    loss = nn.functional.cross_entropy(model(ids), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
