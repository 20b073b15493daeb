import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self, dim=36, latent=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(dim, 48), nn.Tanh())
        self.mu = nn.Linear(48, latent)
        self.logvar = nn.Linear(48, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 48), nn.Tanh(), nn.Linear(48, dim))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def blobs(n):
    """6x6 pictures of one bright blob."""
    center = 1 + 3 * torch.rand(n, 2, 1, 1)
    grid = torch.arange(6.0)
    d2 = (grid[:, None] - center[:, 0]) ** 2 + (grid[None, :] - center[:, 1]) ** 2
    return torch.exp(-d2 / 2).flatten(1)


data = blobs(1024)
vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=3e-3)
beta = 0.05

for step in range(200):
    x = data[torch.randint(0, len(data), (64,))]
    recon, mu, logvar = vae(x)
    recon_loss = F.mse_loss(recon, x, reduction="sum") / len(x)
    kl = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum() / len(x)
    loss = torch.tensor(recon_loss.item() + beta * kl.item(), requires_grad=True)  # BUG gradient-cut
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step + 1} recon {recon_loss.item():.3f} kl {kl.item():.3f}")
