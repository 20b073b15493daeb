"""A small GAN on a ring of points."""

import math

import torch
from torch import nn


def ring(n):
    angle = torch.rand(n) * 2 * math.pi
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.02 * torch.randn(n, 2)


def mlp(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 32), nn.LeakyReLU(0.2), nn.Linear(32, outputs))


torch.manual_seed(3)
generator, critic = mlp(4, 2), mlp(2, 1)
g_opt = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.99))
d_opt = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.5, 0.99))
bce = nn.BCEWithLogitsLoss()
start = generator[0].weight.detach().clone()

for step in range(30):
    real = ring(32)
    fake = generator(torch.randn(32, 4))
    d_opt.zero_grad()
    d_loss = bce(critic(real), torch.ones(32, 1)) + bce(critic(fake.detach()), torch.zeros(32, 1))
    d_loss.backward()
    d_opt.step()

    g_opt.zero_grad()
    g_loss = bce(critic(fake), torch.ones(32, 1))
    g_loss.backward()
    g_opt.step()

print("generator moved", round((generator[0].weight - start).abs().max().item(), 4))
