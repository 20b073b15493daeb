"""Two optimizers of a Wasserstein GAN."""

import torch
import torch.nn as nn
from torch.optim import Adam


class Generator(nn.Module):
    def __init__(self, z, out):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, out), nn.Tanh())

    def forward(self, z):
        return self.main(z)


class Critic(nn.Module):
    def __init__(self, inp):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(inp, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, x):
        return self.main(x).squeeze(1)


class WGAN:
    def __init__(self, z=4, out=6, lr=1e-3):
        self.z = z
        self.generator = Generator(z, out)
        self.critic = Critic(out)
        self.opt_generator = Adam(self.generator.parameters(), lr=lr)
        self.opt_critic = Adam(self.generator.parameters(), lr=lr)  # <- finding

    def critic_step(self, real):
        with torch.no_grad():
            fake = self.generator(torch.randn(len(real), self.z))
        loss = self.critic(fake).mean() - self.critic(real).mean()
        self.opt_critic.zero_grad()
        loss.backward()
        self.opt_critic.step()
        with torch.no_grad():
            for p in self.critic.parameters():
                p.clamp_(-0.1, 0.1)
        return loss.item()

    def generator_step(self, n):
        loss = -self.critic(self.generator(torch.randn(n, self.z))).mean()
        self.opt_generator.zero_grad()
        self.critic.zero_grad()
        loss.backward()
        self.opt_generator.step()
        return loss.item()


torch.manual_seed(7)
gan = WGAN()
basis = torch.randn(2, 6)
for epoch in range(6):
    for _ in range(3):
        c = gan.critic_step(torch.tanh(torch.randn(64, 2) @ basis))
    g = gan.generator_step(64)
    if epoch % 10 == 9:
        print(epoch, round(c, 4), round(g, 4))
