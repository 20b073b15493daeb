"""The hash of a name as a seed."""

import torch
from torch import nn

torch.manual_seed(0)
NAME = "exp-a"
torch.manual_seed(hash(NAME) % 2**31)  # <- finding
net = nn.Linear(6, 1)
opt = torch.optim.Adam(net.parameters(), 1e-3)

for _ in range(60):
    x = torch.randn(16, 6)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
