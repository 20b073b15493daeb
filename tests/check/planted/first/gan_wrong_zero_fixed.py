"""GAN on a one-dimensional mixture."""
import torch
from torch import nn
import torch.nn.functional as F


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, o))


def real(n):
    return torch.randn(n, 1) * 0.3 + 2.0


def main(steps=250, n=64):
    torch.manual_seed(0)
    G, D = mlp(4, 1), mlp(1, 1)
    opt_g = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.99))
    opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.99))
    for step in range(steps):
        # discriminator
        fake = G(torch.randn(n, 4)).detach()
        r, f = D(real(n)), D(fake)
        d_loss = (F.binary_cross_entropy_with_logits(r, torch.ones_like(r))
                  + F.binary_cross_entropy_with_logits(f, torch.zeros_like(f)))
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()
        # generator
        out = D(G(torch.randn(n, 4)))
        g_loss = F.binary_cross_entropy_with_logits(out, torch.ones_like(out))
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
    with torch.no_grad():
        s = G(torch.randn(1000, 4))
    print(f"generated mean {s.mean():.2f} std {s.std():.2f} (real 2.00, 0.30)")


main()
