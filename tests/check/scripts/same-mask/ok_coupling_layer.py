"""A flow over a fixed data set of random numbers: what is scaled are the data, no noise."""

import math

import torch
from torch import nn


class Coupling(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 4))

    def forward(self, x):
        kept, moved = x[:, :2], x[:, 2:]
        scale, shift = self.net(kept).chunk(2, dim=1)
        return torch.cat([kept, moved * scale.exp() + shift], 1), scale.sum(1)


torch.manual_seed(0)
data = torch.randn(32, 4)
flow = Coupling()
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
for step in range(12):
    z, logdet = flow(data)
    loss = (0.5 * (z**2 + math.log(2 * math.pi)).sum(1) - logdet).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
