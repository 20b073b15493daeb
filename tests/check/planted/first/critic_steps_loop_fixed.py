"""Wasserstein critic with several updates for each generator update."""
import torch
import torch.nn as nn

N_CRITIC = 3
torch.manual_seed(0)
G = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
C = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 1, bias=False))
opt_g = torch.optim.RMSprop(G.parameters(), lr=1e-3)
opt_c = torch.optim.RMSprop(C.parameters(), lr=1e-3)


def real(n):
    return 1.5 + 0.4 * torch.randn(n, 1)


def critic_loss(n):
    with torch.no_grad():
        fake = G(torch.randn(n, 3))
    return C(fake).mean() - C(real(n)).mean()


for it in range(150):
    for k in range(N_CRITIC):
        opt_c.zero_grad()
        loss_c = critic_loss(64)
        loss_c.backward()
        opt_c.step()
        with torch.no_grad():
            for p in C.parameters():
                p.clamp_(-0.3, 0.3)
    for p in C.parameters():
        p.requires_grad_(False)
    opt_g.zero_grad()
    loss_g = -C(G(torch.randn(64, 3))).mean()
    loss_g.backward()
    opt_g.step()
    for p in C.parameters():
        p.requires_grad_(True)
with torch.no_grad():
    print("generated mean", G(torch.randn(1000, 3)).mean().item(), "(real 1.5)")
