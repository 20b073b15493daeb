"""The encoder gives a log-variance, and the noise is scaled with exp of it."""

import torch
from torch import nn

torch.manual_seed(0)
encode, decode = nn.Linear(8, 4), nn.Linear(2, 8)
optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=0.01)
for step in range(6):
    x = torch.randn(32, 8)
    mean, logvar = encode(x).chunk(2, dim=1)
    std = logvar.exp()  # <- finding
    latent = mean + std * torch.randn_like(std)
    fit = (decode(latent) - x).pow(2).sum(1).mean()
    divergence = -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(1).mean()
    loss = fit + divergence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
