"""A denoising diffusion model of points on two arcs."""
import torch
from torch import nn
from torch.nn import functional as F

STEPS = 50
betas = torch.linspace(1e-3, 0.12, STEPS)
alpha_bar = torch.cumprod(1 - betas, 0)


def arcs(n):
    angle = torch.rand(n) * torch.pi
    sign = (torch.rand(n) < 0.5).float() * 2 - 1
    return torch.stack([angle.cos(), sign * angle.sin()], 1)


def q_sample(x0, t, noise=None):
    if noise is None:
        noise = torch.randn_like(x0)
    a = alpha_bar[t].unsqueeze(1)
    return a.sqrt() * x0 + (1 - a).sqrt() * noise


class Denoiser(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.time = nn.Embedding(STEPS, 16)
        self.net = nn.Sequential(nn.Linear(18, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], 1))


def p_losses(model, x0):
    t = torch.randint(0, STEPS, (len(x0),))
    noise = torch.randn_like(x0)
    noisy = q_sample(x0, t, noise)
    return F.mse_loss(model(noisy, t), noise)


def main():
    torch.manual_seed(19)
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(200):
        loss = p_losses(model, arcs(64))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.3f}")


main()
