"""Codes with a straight-through gradient, and a probe on the detached codes beside it."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 6)
labels = (x[:, 0] > 0).long()
encoder, decoder, probe = nn.Linear(6, 3), nn.Linear(3, 6), nn.Linear(3, 2)
codes = nn.Embedding(8, 3)
modules = nn.ModuleList([encoder, decoder, probe, codes])
optimizer = torch.optim.Adam(modules.parameters(), lr=0.01)
for step in range(12):
    z = encoder(x)
    chosen = codes(torch.cdist(z, codes.weight).argmin(1))
    commit = nn.functional.mse_loss(z, chosen.detach()) + nn.functional.mse_loss(chosen, z.detach())
    guess = nn.functional.cross_entropy(probe(chosen.detach()), labels)
    passed = z + (chosen - z).detach()
    loss = nn.functional.mse_loss(decoder(passed), x) + 0.25 * commit + guess
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
