"""WGAN-GP on two-dimensional points."""
import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
C = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 1, bias=False))
og = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.0, 0.9))
oc = torch.optim.Adam(C.parameters(), lr=1e-2, betas=(0.0, 0.9))


def penalty(real, fake):
    a = torch.rand(len(real), 1)
    x = (a * real + (1 - a) * fake).requires_grad_(True)
    (g,) = torch.autograd.grad(C(x).sum(), x, create_graph=True)
    return ((g.pow(2).sum(1) + 1e-12).sqrt() - 1).pow(2).mean()


for step in range(300):
    for _ in range(2):
        real = torch.randn(48, 2) * 0.3 + torch.tensor([2.0, -1.0])
        with torch.no_grad():
            fake = G(torch.randn(48, 3))
        loss_c = C(fake).mean() - C(real).mean() + 1 * penalty(real, fake)
        oc.zero_grad()
        loss_c.backward()
        oc.step()
    C.requires_grad_(False)
    loss_g = -C(G(torch.randn(48, 3))).mean()
    og.zero_grad()
    loss_g.backward()
    og.step()
    C.requires_grad_(True)
with torch.no_grad():
    print("mean", G(torch.randn(1000, 3)).mean(0).tolist(), "(real 2, -1)")
