"""The next word, predicted by a network that has read the sentence backwards as well."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, words=15):
        super().__init__()
        self.embed = nn.Embedding(words, 8)
        self.lstm = nn.LSTM(8, 8, batch_first=True, bidirectional=True)  # <- finding
        self.head = nn.Linear(16, words)

    def forward(self, ids):
        return self.head(self.lstm(self.embed(ids))[0])


torch.manual_seed(0)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(8):
    ids = torch.randint(0, 15, (8, 11))
    loss = nn.functional.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
