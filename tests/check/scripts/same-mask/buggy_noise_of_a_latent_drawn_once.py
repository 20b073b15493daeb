"""A variational autoencoder; the noise is drawn once."""

import torch
from torch import nn


class VAE(nn.Module):
    def __init__(self, inputs=10, latent=3, batch=32):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(inputs, 24), nn.ReLU(), nn.Linear(24, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent, 24), nn.ReLU(), nn.Linear(24, inputs))
        self.eps = torch.randn(batch, latent)

    def forward(self, x):
        mean, logvar = self.enc(x).chunk(2, dim=1)
        z = mean + self.eps * (0.5 * logvar).exp()  # <- finding
        return self.dec(z), mean, logvar


torch.manual_seed(0)
mix = torch.randn(3, 10)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=5e-3)
for step in range(40):
    x = torch.randn(32, 3) @ mix
    made, mean, logvar = vae(x)
    kl = -0.5 * (1 + logvar - mean**2 - logvar.exp()).sum(1).mean()
    loss = (made - x).pow(2).sum(1).mean() + kl
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 3))
