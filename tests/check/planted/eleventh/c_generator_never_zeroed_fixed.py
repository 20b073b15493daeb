"""A GAN on two clusters; each side has an optimizer."""

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
D = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
opt_g = torch.optim.SGD(G.parameters(), lr=0.05)
opt_d = torch.optim.SGD(D.parameters(), lr=0.05)
bce = nn.functional.binary_cross_entropy_with_logits


def real_points(n):
    return torch.where(torch.rand(n, 1) < 0.5, 2.0, -2.0) + 0.3 * torch.randn(n, 2)


for step in range(40):
    real, z = real_points(32), torch.randn(32, 4)
    fake = G(z)
    out_real, out_fake = D(real), D(fake.detach())
    loss_d = bce(out_real, torch.ones_like(out_real)) + bce(out_fake, torch.zeros_like(out_fake))
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    out = D(fake)
    loss_g = bce(out, torch.ones_like(out))
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

size = sum(p.grad.norm() ** 2 for p in G.parameters()) ** 0.5
print("gradient of the generator", round(size.item(), 3))
