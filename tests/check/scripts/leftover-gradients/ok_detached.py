"""A GAN as it should be."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
critic = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-3)
opt_d = torch.optim.Adam(critic.parameters(), lr=2e-3)
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
for step in range(6):
    fake = generator(torch.randn(16, 4))
    opt_d.zero_grad()
    loss_d = bce(critic(torch.randn(16, 2)), ones) + bce(critic(fake.detach()), zeros)
    loss_d.backward()
    opt_d.step()
    opt_g.zero_grad()
    loss_g = bce(critic(fake), ones)
    loss_g.backward()
    opt_g.step()
print(loss_d.item(), loss_g.item())
