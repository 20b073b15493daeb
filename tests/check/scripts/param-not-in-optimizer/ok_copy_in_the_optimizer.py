"""The repaired twin of buggy_copy_in_the_optimizer.py."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

X = torch.randn(256, 8)
W = torch.randn(8, 3)
Y = (X @ W).argmax(1)

net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    for i in range(0, 256, 32):
        loss = F.cross_entropy(net(X[i : i + 32]), Y[i : i + 32])
        opt.zero_grad()
        net.zero_grad()
        loss.backward()
        opt.step()
