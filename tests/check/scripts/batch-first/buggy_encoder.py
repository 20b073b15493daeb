"""A Transformer's encoder without batch_first attends over the samples of each batch."""

import torch
from torch import nn

torch.manual_seed(0)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)  # <- finding
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(8, 3)

    def forward(self, tokens):
        return self.head(self.encoder(self.embed(tokens)))


tokens = torch.randint(0, 12, (60, 9))
tags = (tokens + tokens.roll(1, 1)) % 3
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for rows in torch.randperm(60).split(12):
    optimizer.zero_grad()
    scores = model(tokens[rows])
    loss = nn.functional.cross_entropy(scores.reshape(-1, 3), tags[rows].reshape(-1))
    loss.backward()
    optimizer.step()
print(loss.item())
