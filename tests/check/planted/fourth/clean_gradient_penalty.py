"""WGAN-GP in one dimension: double backward through the critic."""
import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
critic = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1, bias=False))
g_opt = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
c_opt = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.0, 0.9))


def real(n):
    return 2.0 + 0.5 * torch.randn(n, 1)


def penalty(a, b):
    mix = torch.rand(len(a), 1)
    x = (mix * a + (1 - mix) * b).requires_grad_(True)
    (grad,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return (grad.norm(dim=1) - 1).pow(2).mean()


for step in range(80):
    for _ in range(2):
        with torch.no_grad():
            fake = generator(torch.randn(64, 2))
        data = real(64)
        c_loss = critic(fake).mean() - critic(data).mean() + 10 * penalty(data, fake)
        c_opt.zero_grad()
        c_loss.backward()
        c_opt.step()
    critic.requires_grad_(False)
    g_loss = -critic(generator(torch.randn(64, 2))).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
    critic.requires_grad_(True)
    if step % 20 == 19:
        with torch.no_grad():
            mean = generator(torch.randn(500, 2)).mean().item()
        print(f"step {step + 1} critic {c_loss.item():.3f} generated mean {mean:.3f}")
