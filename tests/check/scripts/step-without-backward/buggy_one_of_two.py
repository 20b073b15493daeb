"""A GAN whose critic loss is never differentiated."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
critic = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
g_optimizer = torch.optim.Adam(generator.parameters(), lr=0.01)
c_optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)


def critic_step(real):
    c_optimizer.zero_grad()
    fake = generator(torch.randn(16, 2)).detach()
    loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake)).mean()
    c_optimizer.step()  # <- finding
    return loss


def generator_step():
    g_optimizer.zero_grad()
    loss = F.softplus(-critic(generator(torch.randn(16, 2)))).mean()
    loss.backward()
    g_optimizer.step()
    return loss


for _ in range(4):
    print(critic_step(torch.randn(16, 2) + 2).item(), generator_step().item())
