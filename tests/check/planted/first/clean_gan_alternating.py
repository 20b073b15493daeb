"""GAN with alternating updates; discriminator gradients from the generator's phase are discarded."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(1)
G = nn.Sequential(nn.Linear(4, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
D = nn.Sequential(nn.Linear(1, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
og = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.9))
od = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.9))
for step in range(300):
    z = torch.randn(64, 4)
    od.zero_grad()
    real, fake = D(torch.randn(64, 1) * 0.4 - 1.0), D(G(z).detach())
    (F.softplus(-real).mean() + F.softplus(fake).mean()).backward()
    od.step()
    og.zero_grad()
    F.softplus(-D(G(z))).mean().backward()
    og.step()
with torch.no_grad():
    s = G(torch.randn(1000, 4))
print("mean", s.mean().item(), "(real -1.0)")
