"""Rare rows are repeated first, and the copies fall on both sides of the split."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
x = torch.randn(60, 4)
y = (x[:, 0] > 0.8).long()
rare = y == 1
x, y = torch.cat([x, x[rare], x[rare], x[rare]]), torch.cat([y, y[rare], y[rare], y[rare]])  # <- finding
order = torch.randperm(len(x))
x, y = x[order], y[order]
cut = int(0.7 * len(x))
train_x, train_y = x[:cut], y[:cut]
test_x, test_y = x[cut:], y[cut:]
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(5):
    optimizer.zero_grad()
    F.cross_entropy(net(train_x), train_y).backward()
    optimizer.step()
with torch.no_grad():
    print((net(test_x).argmax(dim=1) == test_y).float().mean().item())
