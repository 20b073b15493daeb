import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
gen = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
opt_c = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.5, 0.9))
opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.9))
LAMBDA = 10.0


def gradient_penalty(real, fake):
    eps = torch.rand(real.size(0), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mix)
    grads = torch.autograd.grad(score.sum(), mix, create_graph=True)[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()


def sample_real(n):
    angle = 6.2832 * torch.rand(n)
    return torch.stack([angle.cos(), angle.sin()], 1) * 2


for it in range(100):
    for _ in range(3):
        real = sample_real(64)
        fake = gen(torch.randn(64, 3)).detach()
        gp = gradient_penalty(real, fake)
        c_loss = critic(fake).mean() - critic(real).mean() + LAMBDA * gp
        opt_c.zero_grad()
        c_loss.backward()
        opt_c.step()
    g_loss = -critic(gen(torch.randn(64, 3))).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    if it % 25 == 24:
        print(f"it {it + 1} critic {c_loss.item():.3f} gp {gp.item():.4f} gen {g_loss.item():.3f}")
