import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    def __init__(self, d_in=20, h=48, z=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d_in, h), nn.ReLU())
        self.fc_mu = nn.Linear(h, z)
        self.fc_logvar = nn.Linear(h, z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, d_in))

    def encode(self, x):
        h = self.enc(x)
        return self.fc_mu(h), self.fc_logvar(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(logvar)  # BUG vae-logvar-std|formula|variance-as-deviation
        return mu + std * torch.randn_like(std)

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.dec(self.reparameterize(mu, logvar)), mu, logvar


def vae_loss(recon, x, mu, logvar):
    rec = F.mse_loss(recon, x, reduction="sum") / x.size(0)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / x.size(0)
    return rec, kld


torch.manual_seed(0)
basis = torch.randn(4, 20)
data = torch.randn(512, 4) @ basis + 0.1 * torch.randn(512, 20)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=3e-3)
for epoch in range(12):
    rs = ks = 0.0
    for xb in data[torch.randperm(512)].split(64):
        recon, mu, logvar = vae(xb)
        rec, kld = vae_loss(recon, xb, mu, logvar)
        opt.zero_grad()
        (rec + kld).backward()
        opt.step()
        rs, ks = rs + rec.item(), ks + kld.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch} rec {rs / 8:.3f} kl {ks / 8:.3f}")
with torch.no_grad():
    mu, logvar = vae.encode(data)
    z = vae.reparameterize(mu, logvar)
    print("posterior noise var / exp(logvar):", ((z - mu) ** 2).mean().item() / logvar.exp().mean().item())
