"""The rows of a codebook go to the decoder detached, and nothing carries the gradient around them."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 6)
encoder, decoder = nn.Linear(6, 3), nn.Linear(3, 6)
codes = nn.Parameter(torch.randn(8, 3))
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), codes], lr=0.01)


def quantize(z):
    distance = (z.unsqueeze(1) - codes).pow(2).sum(-1)
    chosen = codes[distance.argmin(1)]
    commit = nn.functional.mse_loss(z, chosen.detach()) + nn.functional.mse_loss(chosen, z.detach())
    fixed = chosen.detach()  # <- finding
    return fixed, commit


for step in range(12):
    rows, commit = quantize(encoder(x))
    loss = nn.functional.mse_loss(decoder(rows), x) + 0.25 * commit
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
