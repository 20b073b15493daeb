"""VAE whose reparametrisation noise is made once."""
from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class Config:
    data_dim: int = 12
    latent: int = 4
    width: int = 32
    batch: int = 50
    epochs: int = 8
    lr: float = 2e-3


class GaussianSampler(nn.Module):
    def __init__(self, batch, latent):
        super().__init__()
        self.register_buffer("eps", torch.randn(batch, latent))

    def forward(self, mu, logvar):
        return mu + (0.5 * logvar).exp() * self.eps.normal_()[:len(mu)]


class VAE(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(cfg.data_dim, cfg.width), nn.ReLU())
        self.mu, self.logvar = nn.Linear(cfg.width, cfg.latent), nn.Linear(cfg.width, cfg.latent)
        self.sample = GaussianSampler(cfg.batch, cfg.latent)
        self.dec = nn.Sequential(nn.Linear(cfg.latent, cfg.width), nn.ReLU(), nn.Linear(cfg.width, cfg.data_dim))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(self.sample(mu, logvar)), mu, logvar


def train(cfg):
    torch.manual_seed(0)
    z = torch.randn(500, 3)
    x = torch.tanh(z @ torch.randn(3, cfg.data_dim)) + 0.05 * torch.randn(500, cfg.data_dim)
    model = VAE(cfg)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        for b in torch.randperm(len(x)).split(cfg.batch):
            recon, mu, logvar = model(x[b])
            kl = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum(1).mean()
            loss = F.mse_loss(recon, x[b], reduction="sum") / len(b) + 0.1 * kl
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item(), kl.item())


train(Config())
