"""A WGAN with several critic steps per generator step, gradient penalty through create_graph, and detached samples."""

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))


def penalty(real, fake):
    t = torch.rand(real.size(0), 1)
    between = (t * real + (1 - t) * fake).requires_grad_(True)
    scores = D(between)
    (gradient,) = torch.autograd.grad(scores, between, torch.ones_like(scores), create_graph=True)
    return ((gradient.norm(2, dim=1) - 1) ** 2).mean()


for step in range(8):
    for _ in range(3):
        real = torch.randn(32, 2) * 0.3 + torch.tensor([1.0, -1.0])
        fake = G(torch.randn(32, 4)).detach()
        d_loss = D(fake).mean() - D(real).mean() + 10 * penalty(real, fake)
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()
    for p in D.parameters():
        p.requires_grad_(False)
    g_loss = -D(G(torch.randn(32, 4))).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    for p in D.parameters():
        p.requires_grad_(True)
    print(f"{step} {d_loss.item():.3f} {g_loss.item():.3f}")
G.eval()
with torch.no_grad():
    print(G(torch.randn(5, 4)).mean(dim=0).tolist())
