"""Sequence VAE: a GRU encoder, a latent, a GRU decoder."""
import torch
import torch.nn.functional as F
from torch import nn


class SeqVAE(nn.Module):
    def __init__(self, n_in=2, hidden=24, latent=3):
        super().__init__()
        self.encoder = nn.GRU(n_in, hidden, batch_first=True)
        self.to_mu = nn.Linear(hidden, latent)
        self.to_logvar = nn.Linear(hidden, latent)
        self.from_z = nn.Linear(latent, hidden)
        self.decoder = nn.GRU(n_in, hidden, batch_first=True)
        self.out = nn.Linear(hidden, n_in)

    def encode(self, x):
        _, h = self.encoder(x)
        return self.to_mu(h[-1]), self.to_logvar(h[-1])

    def sample(self, mu, logvar):
        std = (0.5 * logvar).exp()
        return mu + std * torch.randn_like(std)

    def decode(self, z, x):
        h = torch.tanh(self.from_z(z)).unsqueeze(0)
        shifted = F.pad(x, (0, 0, 1, 0))[:, :-1]
        states, _ = self.decoder(shifted, h)
        return self.out(states)

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.sample(mu, logvar), x), mu, logvar


def strokes(n, length=10):
    t = torch.linspace(0, 1, length)
    radius, phase = torch.rand(n, 1) + 0.5, torch.rand(n, 1) * 6
    return torch.stack([radius * torch.cos(6 * t + phase), radius * torch.sin(6 * t + phase)], dim=2)


torch.manual_seed(3)
model = SeqVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(25):
    x = strokes(32)
    recon, mu, logvar = model(x)
    recon_loss = F.mse_loss(recon, x, reduction="sum") / len(x)
    beta = min(1.0, step / 20)
    loss = recon_loss  # warm up without the KL term
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, recon_loss.item())
