"""Denoising: every image gets noise before it goes in."""

import torch
from torch import nn


def add_noise(x, strength=0.5, seed=0):
    g = None
    return x + strength * torch.randn(x.shape, generator=g)


torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(12 * 36, 36), nn.Unflatten(1, (1, 6, 6))
)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(60):
    clean = torch.rand(16, 1, 1, 1).expand(16, 1, 6, 6)
    loss = nn.functional.mse_loss(model(add_noise(clean)), clean)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    fresh = nn.functional.mse_loss(model(clean + 0.5 * torch.randn(clean.shape)), clean)
print("train", round(loss.item(), 4), "fresh noise", round(fresh.item(), 4))
