"""The repaired twin of buggy_two_loaders.py."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

X = torch.randn(256, 8)
Z = X @ torch.randn(8, 4)
a = DataLoader(TensorDataset(X), batch_size=32, shuffle=True)
b = DataLoader(TensorDataset(Z), batch_size=32, shuffle=False)
a = DataLoader(TensorDataset(X), batch_size=32)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    for (x,), (z,) in zip(a, b):
        loss = F.mse_loss(net(x), z)
        opt.zero_grad()
        loss.backward()
        opt.step()
