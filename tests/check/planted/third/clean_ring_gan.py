"""GAN on a ring of Gaussians, non-saturating loss."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def ring(n, modes=8):
    angle = 2 * math.pi * torch.randint(0, modes, (n,)) / modes
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(n, 2)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, o))


G, D = mlp(4, 2), mlp(2, 1)
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))

for step in range(150):
    real = ring(64)
    fake = G(torch.randn(64, 4))

    opt_d.zero_grad()
    d_loss = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
    d_loss.backward()
    opt_d.step()

    opt_g.zero_grad()
    g_loss = F.softplus(-D(fake)).mean()
    g_loss.backward()
    opt_g.step()
    if step % 50 == 49:
        print(f"step {step + 1} D {d_loss.item():.3f} G {g_loss.item():.3f}")

with torch.no_grad():
    radius = G(torch.randn(256, 4)).norm(dim=1)
print("mean radius of samples", radius.mean().item())
