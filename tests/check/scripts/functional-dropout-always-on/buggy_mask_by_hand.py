"""Whole branches are dropped with a mask drawn in forward, whichever mode the model is in."""

import torch
from torch import nn


class Branch(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        keep = torch.bernoulli(torch.full((len(x), 1), 0.8))
        return x + torch.relu(self.inner(x)) * keep / 0.8  # <- finding


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), Branch(16), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 4)
y = (x[:, 0] > 0).long()
for step in range(6):
    loss = nn.functional.cross_entropy(model(x[:48]), y[:48])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    print((model(x[48:]).argmax(dim=1) == y[48:]).float().mean().item())
