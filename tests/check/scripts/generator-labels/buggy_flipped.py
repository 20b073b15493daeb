"""Zero means real here, and the generator has the other convention."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2), nn.Tanh())
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1), nn.Sigmoid())
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCELoss()
for step in range(8):
    opt_d.zero_grad()
    real_loss = bce(critic(torch.rand(32, 2)), torch.zeros(32, 1))
    real_loss.backward()
    fake = generator(torch.randn(32, 2))
    fake_loss = bce(critic(fake.detach()), torch.ones(32, 1))
    fake_loss.backward()
    opt_d.step()
    opt_g.zero_grad()
    g_loss = bce(critic(fake), torch.ones(32, 1))  # <- finding
    g_loss.backward()
    opt_g.step()
