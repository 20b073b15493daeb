import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
T, DIM, BS = 40, 2, 16
betas = torch.linspace(1e-3, 0.25, T)
alphas = 1 - betas
abar = torch.cumprod(alphas, 0)


def moons(n):
    a = torch.rand(n) * math.pi
    up = torch.rand(n) < 0.5
    x = torch.where(up, a.cos(), 1 - a.cos())
    y = torch.where(up, a.sin(), 0.5 - a.sin())
    return torch.stack([x - 0.5, y - 0.25], 1) * 1.4 + 0.03 * torch.randn(n, 2)


def q_sample(x0, t, noise=None):
    """Forward process; returns the noised points and the noise that was added."""
    if noise is None:
        noise = torch.randn_like(x0)
    a = abar[t].unsqueeze(1)
    return a.sqrt() * x0 + (1 - a).sqrt() * noise, noise


class Denoiser(nn.Module):
    def __init__(self, h=96):
        super().__init__()
        self.temb = nn.Embedding(T, 16)
        self.net = nn.Sequential(nn.Linear(DIM + 16, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, DIM))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.temb(t)], dim=1))


def train(model, steps=800):
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(steps):
        x0 = moons(BS)
        t = torch.randint(0, T, (BS,))
        xt, eps = q_sample(x0, t)
        loss = F.mse_loss(model(xt, t), eps)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 300 == 0:
            print(f"step {step} loss {loss.item():.4f}")


@torch.no_grad()
def sample(model, n):
    x = torch.randn(n, DIM)
    for i in reversed(range(T)):
        t = torch.full((n,), i)
        eps = model(x, t)
        x = (x - betas[i] / (1 - abar[i]).sqrt() * eps) / alphas[i].sqrt()
        if i > 0:
            x = x + betas[i].sqrt() * torch.randn_like(x)
    return x


model = Denoiser()
train(model)
model.eval()
with torch.no_grad():
    x0, t, e = moons(500), torch.randint(0, T, (500,)), torch.randn(500, DIM)
    xt, _ = q_sample(x0, t, e)
    print(f"held-out loss {F.mse_loss(model(xt, t), e).item():.4f}")
s, r = sample(model, 400), moons(400)
near = torch.cdist(s, r).min(1).values.mean()
cover = torch.cdist(r, s).min(1).values.mean()
print(f"final precision dist {near:.3f} coverage dist {cover:.3f}")
