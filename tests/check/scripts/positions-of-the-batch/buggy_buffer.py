"""A table made for time first, in a model whose batches come first."""

import torch
from torch import nn


def sines(length, width):
    angles = torch.arange(length)[:, None] / 50 ** (torch.arange(0, width, 2) / width)
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)



class Model(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.tokens = nn.Embedding(12, width)
        self.register_buffer("positions", sines(100, width).unsqueeze(1))
        layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.out = nn.Linear(width, 2)

    def forward(self, ids):
        h = self.tokens(ids)
        h = self.encoder(h + self.positions[: h.size(0)])  # <- finding
        return self.out(h.mean(1))


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(12):
    ids = torch.randint(0, 12, (24, 9))
    labels = (ids[:, 0] > 5).long()
    loss = nn.functional.cross_entropy(model(ids), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
