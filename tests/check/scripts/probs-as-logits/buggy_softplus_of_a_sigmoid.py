"""A GAN's loss that squashes scores itself."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
G = nn.Linear(4, 2)
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1), nn.Sigmoid())  # <- finding
od = torch.optim.Adam(D.parameters(), lr=1e-3)
og = torch.optim.Adam(G.parameters(), lr=1e-3)
for step in range(30):
    real = torch.randn(64, 2) + 2
    fake = G(torch.randn(64, 4))
    ld = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
    od.zero_grad()
    ld.backward()
    od.step()
    lg = F.softplus(-D(fake)).mean()
    og.zero_grad()
    lg.backward()
    og.step()
