"""Noise is drawn where the function is defined, as the default of an argument."""

import torch
from torch import nn

torch.manual_seed(0)


def corrupt(x, share, noise=torch.randn(16, 3)):  # <- finding
    return (1 - share) * x + share * noise, noise


model = nn.Linear(3, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(6):
    x, share = torch.randn(16, 3), torch.rand(16, 1)
    noisy, noise = corrupt(x, share)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(noisy), noise)
    loss.backward()
    optimizer.step()
print(loss.item())
