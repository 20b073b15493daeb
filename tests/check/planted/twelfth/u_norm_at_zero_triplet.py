"""A Siamese network with a hand-written Euclidean distance."""

import torch
from torch import nn


def distance(a, b):
    return ((a - b) ** 2).sum(dim=1).sqrt()  # BUG nan-born


def contrastive(a, b, same, margin=1.0):
    d = distance(a, b)
    return (same * d**2 + (1 - same) * torch.relu(margin - d) ** 2).mean()


torch.manual_seed(53)
net = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 4))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
pool = torch.randn(60, 10)
group = pool[:, 0].gt(0).long()
for step in range(20):
    i, j = torch.randint(0, 60, (2, 40))
    j[0] = i[0]
    same = (group[i] == group[j]).float()
    loss = contrastive(net(pool[i]), net(pool[j]), same)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
