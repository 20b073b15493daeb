"""A small GAN on a ring of Gaussians."""
import argparse
import math

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=60)
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--latent", type=int, default=8)
opt = parser.parse_args([])


class Generator(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(latent, 32),
            nn.LeakyReLU(0.2),
            nn.Linear(32, 32),
            nn.LeakyReLU(0.2),
            nn.Linear(32, 2),
        )

    def forward(self, z):
        return self.model(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(2, 32),
            nn.LeakyReLU(0.2),
            nn.Linear(32, 1),
        )

    def forward(self, x):
        return self.model(x).squeeze(1)


def sample_real(n):
    k = torch.randint(0, 8, (n,))
    angle = k * (2 * math.pi / 8)
    centers = torch.stack([angle.cos(), angle.sin()], dim=1)
    return centers + 0.05 * torch.randn(n, 2)


torch.manual_seed(0)
generator = Generator(opt.latent)
discriminator = Discriminator()
adversarial = nn.BCEWithLogitsLoss()
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
valid = torch.ones(opt.batch)
fake = torch.zeros(opt.batch)

for step in range(opt.steps):
    real = sample_real(opt.batch)

    # generator
    optimizer_g.zero_grad()
    z = torch.randn(opt.batch, opt.latent)
    images = generator(z)
    loss_g = adversarial(discriminator(images), valid)
    loss_g.backward()
    optimizer_g.step()

    # discriminator
    optimizer_d.zero_grad()
    loss_real = adversarial(discriminator(real), valid)
    loss_fake = adversarial(discriminator(images.detach()), fake)
    loss_d = (loss_real + loss_fake) / 2
    loss_d.backward()
    optimizer_d.step()

    if step % 20 == 0:
        print(f"[{step}/{opt.steps}] D {loss_d.item():.3f} G {loss_g.item():.3f}")
