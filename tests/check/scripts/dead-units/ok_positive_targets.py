"""A ReLU at the output, with positive targets."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1), nn.ReLU())
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
X = torch.randn(128, 4)
Y = X[:, :1].abs() + 1
for it in range(60):
    loss = F.mse_loss(net(X), Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
