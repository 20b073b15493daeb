"""The focal factor is that of the mean, not of each sample."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 6)
y = (x[:, 0] > 0.8).long()
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def focal(logits, labels, gamma=2.0):
    ce = nn.functional.cross_entropy(logits, labels)  # <- finding
    pt = torch.exp(-ce)
    return (1 - pt) ** gamma * ce


for _ in range(5):
    optimizer.zero_grad()
    loss = focal(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
