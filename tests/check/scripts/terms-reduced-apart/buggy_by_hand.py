"""Both terms are written out, and one is a mean where the other is a sum."""

import torch
from torch import nn


class Vae(nn.Module):
    def __init__(self, width=24, latent=3):
        super().__init__()
        self.encode = nn.Linear(width, 2 * latent)
        self.decode = nn.Sequential(nn.Linear(latent, 16), nn.ReLU(), nn.Linear(16, width))

    def forward(self, x):
        mu, logvar = self.encode(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.decode(z), mu, logvar


def criterion(output, mu, logvar, x):
    error = (output - x).abs()
    divergence = 0.5 * (mu**2 + logvar.exp() - 1 - logvar)
    return error.sum() + divergence.mean()  # <- finding


torch.manual_seed(0)
data = (torch.randn(240, 3) @ torch.randn(3, 24)).sigmoid()
model = Vae()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    for x in data.split(40):
        loss = criterion(*model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
