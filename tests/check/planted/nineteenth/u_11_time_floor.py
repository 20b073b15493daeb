"""DDPM on two-dimensional moons; the time is fed as a fraction."""
import math
import torch
from torch import nn
import torch.nn.functional as F


class Denoiser(nn.Module):
    def __init__(self, T, width=48):
        super().__init__()
        self.T = T
        self.time = nn.Sequential(nn.Linear(8, width), nn.SiLU())
        self.inp = nn.Linear(2, width)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def embed(self, t):
        frac = t // self.T  # BUG device-dtype-mixed
        k = 2.0 ** torch.arange(4)
        angles = frac[:, None] * k[None, :] * math.pi
        return torch.cat([angles.sin(), angles.cos()], dim=1)

    def forward(self, x, t):
        return self.mid(self.inp(x) + self.time(self.embed(t)))


class Diffusion:
    def __init__(self, T=50):
        self.T = T
        self.betas = torch.linspace(1e-3, 0.15, T)
        self.bar = torch.cumprod(1 - self.betas, 0)

    def loss(self, net, x0):
        t = torch.randint(0, self.T, (len(x0),))
        noise = torch.randn_like(x0)
        a = self.bar[t][:, None]
        xt = a.sqrt() * x0 + (1 - a).sqrt() * noise
        return F.mse_loss(net(xt, t), noise)

    @torch.no_grad()
    def sample(self, net, n):
        x = torch.randn(n, 2)
        for t in reversed(range(self.T)):
            eps = net(x, torch.full((n,), t))
            x = (x - self.betas[t] / (1 - self.bar[t]).sqrt() * eps) / (1 - self.betas[t]).sqrt()
            if t:
                x = x + self.betas[t].sqrt() * torch.randn_like(x)
        return x


def moons(n):
    a = torch.rand(n) * math.pi
    up = torch.rand(n) < 0.5
    x = torch.where(up, a.cos(), 1 - a.cos())
    y = torch.where(up, a.sin(), 0.5 - a.sin())
    return torch.stack([x, y], 1) + 0.05 * torch.randn(n, 2)


torch.manual_seed(0)
diffusion = Diffusion()
net = Denoiser(diffusion.T)
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(80):
    loss = diffusion.loss(net, moons(64))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
print(diffusion.sample(net.eval(), 64).mean(0).tolist())
