"""The label for generated samples, once more."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
for step in range(8):
    real = torch.randn(32, 2) + 2
    fake = generator(torch.randn(32, 2))
    opt_d.zero_grad()
    (bce(critic(real), ones) + bce(critic(fake.detach()), zeros)).backward()
    opt_d.step()
    opt_g.zero_grad()
    loss = bce(critic(fake), zeros)  # <- finding
    loss.backward()
    opt_g.step()
