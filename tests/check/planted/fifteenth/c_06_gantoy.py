"""GAN for a ring of points."""
import math

import torch
from torch import nn

LATENT = 8
torch.manual_seed(42)

G = nn.Sequential(nn.Linear(LATENT, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()


def real_batch(n):
    a = torch.rand(n) * 2 * math.pi
    return torch.stack([a.cos(), a.sin()], dim=1) + 0.05 * torch.randn(n, 2)


def sample(n):
    return G(torch.randn(n, LATENT)).detach()  # BUG gradient-cut


def discriminator_step(n):
    real, fake = real_batch(n), sample(n)
    loss = bce(D(real), torch.ones(n, 1)) + bce(D(fake.detach()), torch.zeros(n, 1))
    opt_d.zero_grad()
    loss.backward()
    opt_d.step()
    return loss.item()


def generator_step(n):
    loss = bce(D(sample(n)), torch.ones(n, 1))  # BUG gradient-cut
    opt_g.zero_grad()
    loss.backward()
    opt_g.step()
    return loss.item()


for step in range(150):
    ld = discriminator_step(64)
    lg = generator_step(64)
    if step % 50 == 49:
        print(f"{step}: D {ld:.3f} G {lg:.3f}")
