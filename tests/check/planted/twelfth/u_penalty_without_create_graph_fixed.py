"""WGAN-GP on a two-dimensional distribution."""

import torch
from torch import autograd, nn, optim

torch.manual_seed(42)
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
g_opt = optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
d_opt = optim.Adam(D.parameters(), lr=1e-3, betas=(0.0, 0.9))


def gradient_penalty(real, fake):
    alpha = torch.rand(real.size(0), 1)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    out = D(mixed)
    grads = autograd.grad(
        outputs=out,
        inputs=mixed,
        grad_outputs=torch.ones_like(out),
        create_graph=True,
    )[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()


for it in range(30):
    for _ in range(2):
        real = torch.randn(32, 2) * 0.3 + torch.tensor([2.0, -1.0])
        fake = G(torch.randn(32, 4)).detach()
        d_loss = D(fake).mean() - D(real).mean() + 10 * gradient_penalty(real, fake)
        d_opt.zero_grad()
        d_loss.backward()
        d_opt.step()
    g_loss = -D(G(torch.randn(32, 4))).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
print(d_loss.item(), g_loss.item())
