"""Tiny GAN on a 1-D mixture."""
import torch
from torch import nn

torch.manual_seed(8)


def real_batch(n):
    return 3.0 + 0.5 * torch.randn(n, 1)


G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
D = nn.Sequential(nn.Linear(1, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.99))
bce = nn.BCEWithLogitsLoss()
B = 64
ones, zeros = torch.ones(B, 1), torch.zeros(B, 1)

for it in range(700):
    # discriminator
    fake = G(torch.randn(B, 4))
    d_loss = bce(D(real_batch(B)), ones) + bce(D(fake.detach()), zeros)
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()

    # generator
    opt_g.zero_grad()
    g_loss = bce(D(G(torch.randn(B, 4))), ones)
    g_loss.backward()
    opt_g.step()

    if it % 140 == 139:
        print(f"it {it + 1}: D {d_loss.item():.3f} G {g_loss.item():.3f}")

with torch.no_grad():
    s = G(torch.randn(2000, 4))
print(f"samples: mean {s.mean():.3f} std {s.std():.3f} (data: 3.000, 0.500)")
