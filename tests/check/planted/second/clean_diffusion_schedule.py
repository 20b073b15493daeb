"""Denoising diffusion on a one-dimensional mixture."""
import torch
from torch import nn


class Diffusion(nn.Module):
    def __init__(self, steps=50):
        super().__init__()
        beta = torch.linspace(1e-3, 0.2, steps)
        self.register_buffer("beta", beta)
        self.register_buffer("abar", torch.cumprod(1 - beta, 0))
        self.net = nn.Sequential(nn.Linear(2, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
        self.steps = steps

    def eps(self, x, t):
        return self.net(torch.cat([x, t[:, None] / self.steps - 0.5], 1))

    def loss(self, x0):
        t = torch.randint(0, self.steps, (len(x0),))
        e = torch.randn_like(x0)
        a = self.abar[t][:, None]
        return (self.eps(a.sqrt() * x0 + (1 - a).sqrt() * e, t) - e).pow(2).mean()

    @torch.no_grad()
    def sample(self, n):
        x = torch.randn(n, 1)
        for i in reversed(range(self.steps)):
            e = self.eps(x, torch.full((n,), i))
            x = (x - self.beta[i] / (1 - self.abar[i]).sqrt() * e) / (1 - self.beta[i]).sqrt()
            if i:
                x = x + self.beta[i].sqrt() * torch.randn_like(x)
        return x


torch.manual_seed(0)
model = Diffusion()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(300):
    x0 = torch.where(torch.rand(128, 1) < 0.5, -1.5, 1.5) + 0.2 * torch.randn(128, 1)
    loss = model.loss(x0)
    opt.zero_grad()
    loss.backward()
    opt.step()
s = model.sample(500)
print("loss", loss.item(), "mean of |x|", s.abs().mean().item(), "(data 1.5)")
