"""VAE on noisy rings; the encoder has a normalisation that is never called."""
import torch
from torch import nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, width, latent):
        super().__init__()
        self.fc1 = nn.Linear(16, width)
        self.norm1 = nn.LayerNorm(width)
        self.fc2 = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)  # BUG param-unused
        self.mu = nn.Linear(width, latent)
        self.logvar = nn.Linear(width, latent)

    def forward(self, x):
        h = F.silu(self.norm1(self.fc1(x)))
        h = F.silu(self.norm1(self.fc2(h)))  # BUG param-unused
        return self.mu(h), self.logvar(h)


class VAE(nn.Module):
    def __init__(self, width=40, latent=3):
        super().__init__()
        self.encoder = Encoder(width, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, width), nn.SiLU(), nn.Linear(width, 16))

    def forward(self, x):
        mu, logvar = self.encoder(x)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.decoder(z), mu, logvar


def elbo(recon, x, mu, logvar, beta):
    rec = F.mse_loss(recon, x, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return rec + beta * kl


torch.manual_seed(0)
angle = torch.rand(400, 1) * 6.283
x = torch.cos(angle + torch.linspace(0, 3, 16)) + 0.05 * torch.randn(400, 16)
model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    beta = min(1.0, epoch / 4) * 0.1
    for chunk in torch.randperm(400).split(50):
        batch = x[chunk]
        loss = elbo(*[model(batch)[0], batch], *model.encoder(batch), beta)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
