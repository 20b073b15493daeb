import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)


class VAE(nn.Module):
    def __init__(self, d=36, z=4):
        super().__init__()
        self.enc = nn.Linear(d, 48)
        self.mu = nn.Linear(48, z)
        self.logvar = nn.Linear(48, z)
        self.dec = nn.Sequential(nn.Linear(z, 48), nn.ReLU(), nn.Linear(48, d))

    def forward(self, x):
        h = torch.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


def loss_function(recon, x, mu, logvar):
    mse = F.mse_loss(recon, x, reduction="sum") / len(x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(x)
    return mse + kld


def bars(n):
    x = torch.zeros(n, 6, 6)
    rows = torch.randint(0, 6, (n,))
    x[torch.arange(n), rows] = 1.0
    return (x + 0.05 * torch.randn_like(x)).flatten(1)


vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)
for step in range(300):
    x = bars(64)
    recon, mu, logvar = vae(x)
    loss = loss_function(recon, x, mu, logvar)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        print(step, loss.item(), "recon error", F.mse_loss(recon, x).item(), "latent std", mu.std().item())
