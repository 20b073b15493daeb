"""Labels that are smoothed, and the label of real samples for the generator."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
for step in range(8):
    fake = generator(torch.randn(32, 2))
    opt_d.zero_grad()
    real = critic(torch.randn(32, 2) + 2)
    loss = bce(real, torch.full_like(real, 0.9)) + bce(critic(fake.detach()), torch.zeros(32, 1))
    loss.backward()
    opt_d.step()
    opt_g.zero_grad()
    bce(critic(fake), torch.ones(32, 1)).backward()
    opt_g.step()
