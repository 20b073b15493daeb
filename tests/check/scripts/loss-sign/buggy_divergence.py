"""The KL term of a variational autoencoder is subtracted."""

import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
x = torch.randn(32, 6)
for step in range(6):
    mu, logvar = encoder(x).chunk(2, 1)
    z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
    reconstruction = nn.functional.mse_loss(decoder(z), x)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    loss = reconstruction - 0.1 * kl  # <- finding
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
