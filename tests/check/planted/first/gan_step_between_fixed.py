"""GAN sharing one forward pass of the discriminator for both losses."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.99))


def bce(logits, target):
    return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, target))


def real(n):
    return torch.randn(n, 2) * 0.3 + torch.tensor([1.0, -1.0])


for step in range(250):
    fake = G(torch.randn(64, 4))
    d_loss = bce(D(real(64)), 1.0) + bce(D(fake.detach()), 0.0)
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    g_loss = bce(D(fake), 1.0)
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
with torch.no_grad():
    s = G(torch.randn(1000, 4))
print("mean", s.mean(0).tolist(), "real [1, -1]")
