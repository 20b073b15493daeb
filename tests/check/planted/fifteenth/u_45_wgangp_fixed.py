"""WGAN with a gradient penalty on 2-D data."""
import torch
from torch import nn


def mlp(a, b, h=32):
    return nn.Sequential(nn.Linear(a, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, b))


def input_gradient(fn, x, create_graph=True):
    x = x.detach().requires_grad_(True)
    out = fn(x)
    (grad,) = torch.autograd.grad(out.sum(), x, create_graph=create_graph)
    return grad


def gradient_penalty(critic, real, fake):
    eps = torch.rand(len(real), 1)
    mixed = eps * real + (1 - eps) * fake
    norm = input_gradient(critic, mixed).norm(2, dim=1)
    return ((norm - 1) ** 2).mean()


def real_data(n):
    k = torch.randint(0, 4, (n,))
    centers = torch.tensor([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    return centers[k] + 0.1 * torch.randn(n, 2)


torch.manual_seed(0)
gen, critic = mlp(4, 2), mlp(2, 1)
opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
for it in range(40):
    for _ in range(3):
        real = real_data(64)
        fake = gen(torch.randn(64, 4)).detach()
        gp = gradient_penalty(critic, real, fake)
        loss_c = critic(fake).mean() - critic(real).mean() + 10.0 * gp
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()
    loss_g = -critic(gen(torch.randn(64, 4))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if it % 10 == 9:
        print(it, loss_c.item(), gp.item())
