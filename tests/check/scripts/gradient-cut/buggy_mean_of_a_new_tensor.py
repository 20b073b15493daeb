"""The losses are put into a new tensor, and their mean is taken."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 8)
y = x[:, :1] * 2
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(30):
    i = torch.randint(0, 256, (32,))
    losses = [F.mse_loss(net(a), b) for a, b in zip(x[i].split(8), y[i].split(8))]
    loss = torch.tensor(losses, requires_grad=True).mean()  # <- finding
    opt.zero_grad()
    loss.backward()
    opt.step()
