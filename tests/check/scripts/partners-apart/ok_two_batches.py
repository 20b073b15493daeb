"""Two batches, each mixed with a permutation of its own; and a cut-out patch with the same order as its labels."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
centres = torch.randn(4, 6)
y = torch.randint(0, 4, (192,))
x = centres[y] + 0.5 * torch.randn(192, 6)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)


def mixed(xb, yb):
    order = torch.randperm(len(xb))
    target = F.one_hot(yb, 4).float()
    cut = xb.clone()
    cut[:, 2:4] = xb[order, 2:4]
    return cut, target.lerp(target[order], 1 / 3)


for epoch in range(4):
    for rows in torch.randperm(192).split(96):
        first, second = rows[:48], rows[48:]
        xa, ya = mixed(x[first], y[first])
        xb, yb = mixed(x[second], y[second])
        scores = model(torch.cat([xa, xb]))
        loss = F.cross_entropy(scores[:48], ya) + F.cross_entropy(scores[48:], yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
