"""The sum has a weight of its own."""

import torch
from torch import nn
from torch.nn import functional as F


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
    reconstruction = F.mse_loss(output, x)
    divergence = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return reconstruction + divergence / x.numel()


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
