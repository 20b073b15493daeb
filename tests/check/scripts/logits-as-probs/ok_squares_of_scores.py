"""A least-squares GAN, whose `1 - D(x)` is a distance and no probability."""

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Linear(4, 2)
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
od = torch.optim.Adam(D.parameters(), lr=1e-3)
og = torch.optim.Adam(G.parameters(), lr=1e-3)
for step in range(30):
    real = torch.randn(64, 2) + 2
    fake = G(torch.randn(64, 4))
    w = torch.rand(64, 1)
    ld = (w * (1 - D(real)) ** 2).mean() + (D(fake.detach()) ** 2).mean()
    od.zero_grad()
    ld.backward()
    od.step()
    lg = ((1 - D(fake)) ** 2).mean()
    og.zero_grad()
    lg.backward()
    og.step()
