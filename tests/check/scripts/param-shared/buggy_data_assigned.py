"""The target gets the memory of the model and no copy."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
target = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
for t, p in zip(target.parameters(), net.parameters()):
    t.data = p.data  # <- finding
opt = torch.optim.Adam(net.parameters(), 1e-2)
for _ in range(40):
    x = torch.randn(32, 6)
    with torch.no_grad():
        y = target(x) * 0.9 + x[:, :1]
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
