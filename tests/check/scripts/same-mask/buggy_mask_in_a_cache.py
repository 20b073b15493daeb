from functools import lru_cache

import torch
from torch import nn


@lru_cache  # <- finding
def noise_mask(rows, columns):
    return torch.bernoulli(torch.full((rows, columns), 0.7)) / 0.7


torch.manual_seed(0)
x = torch.randn(160, 12)
net = nn.Sequential(nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 12))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(2):
    for batch in x.split(16):
        loss = nn.functional.mse_loss(net(batch * noise_mask(*batch.shape)), batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
