"""A variational autoencoder on low-dimensional data."""

import torch
from torch import nn


class VAE(nn.Module):
    def __init__(self, d=10, z=3, batch=50):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 32), nn.Tanh())
        self.mu, self.logvar = nn.Linear(32, z), nn.Linear(32, z)
        self.dec = nn.Sequential(nn.Linear(z, 32), nn.Tanh(), nn.Linear(32, d))
        self.noise = torch.randn(batch, z)  # BUG same-mask

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + self.noise * (0.5 * logvar).exp()  # BUG same-mask
        return self.dec(z), mu, logvar


torch.manual_seed(32)
mix = torch.randn(3, 10)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=3e-3)
for step in range(60):
    x = torch.randn(50, 3) @ mix
    recon, mu, logvar = vae(x)
    rec = (recon - x).pow(2).sum(1).mean()
    kld = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    loss = rec + 0.1 * kld
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"rec {rec.item():.3f} kld {kld.item():.3f}")
