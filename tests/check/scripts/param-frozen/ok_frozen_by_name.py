"""Frozen as it is written: whole names, all norms by a part of their names, vectors that say that they stay, fixed random features."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, vectors, depth=12):
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(vectors, freeze=True)
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(depth))
        self.norm1, self.norm2, self.norm = nn.LayerNorm(4), nn.LayerNorm(4), nn.LayerNorm(4)
        self.frequencies = torch.randn(4, 4)
        self.head = nn.Linear(4, 1)

    def forward(self, ids):
        x = self.norm1(self.embedding(ids).mean(1))
        x = self.norm2(torch.sin(x @ self.frequencies))
        for layer in self.layers:
            x = x + 0.1 * torch.tanh(layer(x))
        return self.head(self.norm(x))


torch.manual_seed(0)
model = Net(torch.randn(10, 4))
for name, p in model.named_parameters():
    if name.startswith(("layers.0.", "layers.1.", "layers.10.")) or "norm" in name:
        p.requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(5):
    ids = torch.randint(0, 10, (8, 3))
    loss = nn.functional.mse_loss(model(ids), ids.float().mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
