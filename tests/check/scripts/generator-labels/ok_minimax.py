"""The generator makes the loss of its adversary large, as in the first paper."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
zeros = torch.zeros(32, 1)
for step in range(8):
    fake = generator(torch.randn(32, 2))
    opt_d.zero_grad()
    (bce(critic(torch.randn(32, 2) + 2), zeros + 1) + bce(critic(fake.detach()), zeros)).backward()
    opt_d.step()
    opt_g.zero_grad()
    value = bce(critic(fake), zeros)
    (-value).backward()  # pellucid: ignore[loss-sign]
    opt_g.step()
