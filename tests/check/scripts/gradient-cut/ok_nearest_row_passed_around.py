"""The same with a straight-through gradient, and nearest rows that are only compared with."""

import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder, codes = nn.Linear(6, 2), nn.Linear(2, 6), nn.Embedding(8, 2)
parts = nn.ModuleList([encoder, decoder, codes])
optimizer = torch.optim.Adam(parts.parameters(), lr=1e-3)
x = torch.randn(32, 6)
for step in range(6):
    z = encoder(x)
    nearest = torch.cdist(z, codes.weight).argmin(1)
    quantized = codes(nearest)
    commit = (z - quantized.detach()).pow(2).mean() + (quantized - z.detach()).pow(2).mean()
    taken = quantized if step < 0 else z + (quantized - z).detach()
    loss = nn.functional.mse_loss(decoder(taken), x) + 0.25 * commit
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
