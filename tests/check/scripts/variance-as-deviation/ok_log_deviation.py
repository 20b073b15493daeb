"""A log-deviation: twice of it is the log-variance of the divergence."""

import torch
from torch import nn

torch.manual_seed(0)
encode, decode = nn.Linear(8, 4), nn.Linear(2, 8)
optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=0.01)
for step in range(8):
    x = torch.randn(32, 8)
    mean, log_std = encode(x).chunk(2, dim=1)
    std = log_std.exp()
    latent = mean + std * torch.randn_like(std)
    fit = (decode(latent) - x).pow(2).sum(1).mean()
    if step % 2:
        kl = -0.5 * (1 + 2 * log_std - mean.pow(2) - (2 * log_std).exp()).sum(1).mean()
    else:
        kl = (0.5 * (std**2 + mean**2) - log_std - 0.5).sum(1).mean()
    loss = fit + kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
