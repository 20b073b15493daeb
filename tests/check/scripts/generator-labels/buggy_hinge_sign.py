"""The hinge loss of the generator lacks its minus."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
og, od = torch.optim.Adam(G.parameters(), lr=2e-4), torch.optim.Adam(D.parameters(), lr=2e-4)
for it in range(40):
    real = torch.randn(32, 2) + 2
    fake = G(torch.randn(32, 8))
    d = F.relu(1 - D(real)).mean() + F.relu(1 + D(fake.detach())).mean()
    od.zero_grad()
    d.backward()
    od.step()
    g = D(fake).mean()  # <- finding
    og.zero_grad()
    g.backward()
    og.step()
