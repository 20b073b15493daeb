"""A backbone is in eval mode while it is frozen, and in train mode once it is trained."""

import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1))
model = nn.Sequential(backbone, nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x, y = torch.randn(64, 6), torch.randint(0, 3, (64,))
backbone.requires_grad_(False).eval()
for epoch in range(6):
    if epoch == 3:
        backbone.requires_grad_(True)
        model.train()
    for rows in torch.randperm(64).split(16):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
