"""The critic is frozen while the generator learns, and not thawed afterwards."""

import torch
import torch.nn.functional as F
from torch import nn


class Gan:
    def __init__(self):
        self.G = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
        self.D = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=0.01)
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=0.01)

    def generator_step(self):
        for p in self.D.parameters():
            p.requires_grad_(False)  # <- finding
        self.opt_g.zero_grad()
        loss = F.softplus(-self.D(self.G(torch.randn(8, 2)))).mean()
        loss.backward()
        self.opt_g.step()

    def critic_step(self, real):
        self.opt_d.zero_grad()
        loss = F.softplus(-self.D(real)).mean() + F.softplus(self.D(self.G(torch.randn(8, 2)))).mean()
        loss.backward()
        self.opt_d.step()
        return loss.item()


torch.manual_seed(0)
gan = Gan()
for _ in range(5):
    print(gan.critic_step(torch.randn(8, 2) + 2))
    gan.generator_step()
