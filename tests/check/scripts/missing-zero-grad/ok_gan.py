"""The generator's backward also fills the critic's gradients; they are cleared before the critic steps."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
G, D = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
opt_g, opt_d = torch.optim.Adam(G.parameters(), 0.01), torch.optim.Adam(D.parameters(), 0.01)
for _ in range(4):
    real, noise = torch.randn(8, 2) + 1, torch.randn(8, 2)
    opt_d.zero_grad()
    fake = G(noise)
    d_loss = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
    d_loss.backward()
    opt_d.step()
    opt_g.zero_grad()
    g_loss = F.softplus(-D(fake)).mean()
    g_loss.backward()
    opt_g.step()
print(d_loss.item(), g_loss.item())
