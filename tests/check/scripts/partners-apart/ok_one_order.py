"""Mixup with one permutation, with mixed labels and with mixed losses."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
centres = torch.randn(4, 6)
y = torch.randint(0, 4, (192,))
x = centres[y] + 0.5 * torch.randn(192, 6)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    order = torch.randperm(192)
    for xb, yb in zip(x[order].split(48), y[order].split(48)):
        perm = torch.randperm(len(xb))
        scores = model(0.7 * xb + 0.3 * xb[perm])
        if epoch % 2:
            target = F.one_hot(yb, 4).float()
            loss = F.cross_entropy(scores, 0.7 * target + 0.3 * target[perm])
        else:
            loss = 0.7 * F.cross_entropy(scores, yb) + 0.3 * F.cross_entropy(scores, yb[perm])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
