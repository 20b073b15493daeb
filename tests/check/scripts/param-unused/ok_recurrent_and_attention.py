"""Layers of the library that use their parameters inside: LSTM, attention, a transformer layer; an unused encoder in eval mode."""

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, num_layers=2, batch_first=True)
        self.cell = nn.GRUCell(8, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.norm = nn.LayerNorm(8)
        self.out = nn.Bilinear(8, 8, 1)

    def forward(self, x):
        x, _ = self.lstm(x)
        x = self.layer(self.attention(x, x, x, need_weights=False)[0])
        h = self.cell(x[:, 0], x[:, -1])
        return self.out(self.norm(h), h)


torch.manual_seed(0)
model = Reader()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(3, 5, 6)).pow(2).mean()
    loss.backward()
    optimizer.step()
print(loss.item())
