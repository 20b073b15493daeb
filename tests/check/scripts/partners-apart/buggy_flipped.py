"""CutMix takes patches of the batch in reverse, and labels of a random order."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
patterns = torch.randn(3, 1, 8, 8)
y = torch.randint(0, 3, (120,))
x = patterns[y] + 0.5 * torch.randn(120, 1, 8, 8)
model = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(216, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    for rows in torch.randperm(120).split(40):
        xb, onehot = x[rows], F.one_hot(y[rows], 3).float()
        cut = xb.clone()
        cut[:, :, 2:6, 2:6] = xb.flip(0)[:, :, 2:6, 2:6]
        order = torch.randperm(len(xb))
        target = onehot * 0.75 + onehot[order] * 0.25  # <- finding
        loss = F.cross_entropy(model(cut), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
