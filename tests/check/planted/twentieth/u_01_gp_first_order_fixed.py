"""WGAN-GP on two-dimensional data."""
import torch
from torch import autograd, nn


class Critic(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, width), nn.Softplus(), nn.Linear(width, width), nn.Softplus(), nn.Linear(width, 1)
        )

    def forward(self, x):
        return self.net(x)


class Generator(nn.Module):
    def __init__(self, latent=4, width=32):
        super().__init__()
        self.latent = latent
        self.net = nn.Sequential(nn.Linear(latent, width), nn.ReLU(), nn.Linear(width, 2))

    def sample(self, n):
        return self.net(torch.randn(n, self.latent))


def gradient_penalty(critic, real, fake):
    eps = torch.rand(len(real), 1)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mixed)
    grads = autograd.grad(score, mixed, torch.ones_like(score), create_graph=True)[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()


def moons(n):
    angle = torch.rand(n) * torch.pi
    upper = torch.rand(n) < 0.5
    x = torch.where(upper, angle.cos(), 1 - angle.cos())
    y = torch.where(upper, angle.sin(), 0.5 - angle.sin())
    return torch.stack([x, y], 1) + 0.05 * torch.randn(n, 2)


def train(iterations=25, n_critic=3, lam=10.0, batch=64):
    critic, generator = Critic(), Generator()
    opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
    opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
    for it in range(iterations):
        for _ in range(n_critic):
            real = moons(batch)
            fake = generator.sample(batch).detach()
            gp = gradient_penalty(critic, real, fake)
            loss_c = critic(fake).mean() - critic(real).mean() + lam * gp
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()
        loss_g = -critic(generator.sample(batch)).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        if it % 5 == 0:
            print(it, loss_c.item(), gp.item())


if __name__ == "__main__":
    torch.manual_seed(0)
    train()
