import math

import torch
from torch import nn


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 2))

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, 1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), s.sum(1)


torch.manual_seed(53)
x = torch.randn(500, 1)
data = torch.cat([x, 0.5 * x**2 + 0.2 * torch.randn(500, 1)], 1)
layers = nn.ModuleList([Coupling(False), Coupling(True), Coupling(False)])
opt = torch.optim.Adam(layers.parameters(), lr=3e-3)
for epoch in range(8):
    for i in torch.randperm(500).split(50):
        z, log_det = data[i], 0.0
        for layer in layers:
            z, ld = layer(z)
            log_det = log_det + ld
        log_prob = -0.5 * (z**2 + math.log(2 * math.pi)).sum(1)
        loss = -(log_prob + log_det).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
