"""Binary cross entropy keeps its default reduction."""

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


def divergence(mu, logvar):
    return (-0.5 * (1 + logvar - mu.square() - logvar.exp())).sum()


def criterion(output, mu, logvar, x):
    loss = F.binary_cross_entropy_with_logits(output, x)  # <- finding
    loss = loss + divergence(mu, logvar)
    return loss


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
