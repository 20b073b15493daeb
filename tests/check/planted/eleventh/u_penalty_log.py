"""Critic with gradient penalty; its terms are logged."""

from collections import defaultdict

import torch
from torch import nn


class Log:
    def __init__(self):
        self.values = defaultdict(list)

    def add(self, **terms):
        for name, value in terms.items():
            self.values[name].append(value)  # BUG graph-kept


def penalty(critic, real, fake):
    mix = torch.rand(len(real), 1)
    point = (mix * real + (1 - mix) * fake).requires_grad_(True)
    (grad,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    return (grad.norm(dim=1) - 1).pow(2).mean()


torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam(critic.parameters(), lr=5e-3)
log = Log()
for step in range(25):
    real, fake = torch.randn(32, 2) + 1, torch.randn(32, 2) - 1
    gp = penalty(critic, real, fake)
    wasserstein = critic(fake).mean() - critic(real).mean()
    loss = wasserstein + 10 * gp
    opt.zero_grad()
    loss.backward()
    opt.step()
    log.add(wasserstein=wasserstein, gp=gp)  # BUG graph-kept
print("distance", round(-float(log.values["wasserstein"][-1]), 3), "graphs", isinstance(log.values["gp"][0], torch.Tensor))
