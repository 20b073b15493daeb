"""Squares in place of logarithms, and a function for both."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.999))


def against(scores, label):
    return nn.functional.mse_loss(scores, torch.full_like(scores, label))


for step in range(8):
    with torch.no_grad():
        fake = generator(torch.randn(32, 2))
    loss = 0.5 * against(critic(torch.randn(32, 2) + 2), 1.0) + 0.5 * against(critic(fake), 0.0)
    opt_d.zero_grad()
    loss.backward()
    opt_d.step()
    scores = critic(generator(torch.randn(32, 2)))
    adversarial = nn.functional.mse_loss(scores, torch.zeros_like(scores))  # <- finding
    opt_g.zero_grad()
    adversarial.backward()
    opt_g.step()
