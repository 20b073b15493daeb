"""A variational autoencoder whose sample is drawn by torch.normal: only the divergence trains the encoder."""

import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
x = torch.randn(64, 6)
for _ in range(8):
    mean, logvar = encoder(x).chunk(2, 1)
    z = torch.normal(mean, (0.5 * logvar).exp())  # <- finding
    divergence = 0.5 * (mean**2 + logvar.exp() - logvar - 1).sum(1).mean()
    loss = nn.functional.mse_loss(decoder(z), x) + 0.01 * divergence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
