"""Unfrozen in a round that the loop never comes to."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 8)
y = (x[:, 0] > 0).long()
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for p in net[0].parameters():
    p.requires_grad_(False)
EPOCHS = 4
for epoch in range(EPOCHS):
    if epoch == EPOCHS:  # <- finding
        for p in net[0].parameters():
            p.requires_grad_(True)
    for step in range(8):
        i = torch.randint(0, 256, (32,))
        loss = F.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
