"""A hook on a gradient returns zeros."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 8)
y = (x[:, 0] > 0).long()
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))


def stop(grad):
    return torch.zeros_like(grad)  # <- finding


opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(40):
    i = torch.randint(0, 256, (32,))
    h = net[1](net[0](x[i]))
    h.register_hook(stop)
    loss = F.cross_entropy(net[2](h), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
