"""GAN on a ring of Gaussians with an averaged generator."""
import math
import torch
from torch import nn
import torch.nn.functional as F


class EMA:
    def __init__(self, model, decay=0.99):
        self.decay = decay
        self.shadow = {name: p.data for name, p in model.named_parameters()}  # BUG param-shared

    @torch.no_grad()
    def update(self, model):
        for name, p in model.named_parameters():
            self.shadow[name].mul_(self.decay).add_(p, alpha=1 - self.decay)  # BUG param-shared

    def state_dict(self):
        return self.shadow


def ring(n):
    a = torch.randint(0, 8, (n,)) * (2 * math.pi / 8)
    return torch.stack([a.cos(), a.sin()], 1) + 0.05 * torch.randn(n, 2)


def net(i, o, width=32):
    return nn.Sequential(nn.Linear(i, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2), nn.Linear(width, o))


torch.manual_seed(0)
G, D = net(4, 2), net(2, 1)
ema = EMA(G)
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))
for step in range(60):
    real = ring(64)
    fake = G(torch.randn(64, 4))
    d_loss = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()

    g_loss = F.softplus(-D(fake)).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    ema.update(G)
    if step % 20 == 0:
        print(step, d_loss.item(), g_loss.item())
sampler = net(4, 2)
sampler.load_state_dict(ema.state_dict())
print(sampler(torch.randn(500, 4)).norm(dim=1).mean().item())
