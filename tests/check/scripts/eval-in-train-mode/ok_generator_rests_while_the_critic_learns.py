"""A generator with dropout makes samples for the critic's step without gradients, and is trained in turn."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, 2))
critic = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
g_opt = torch.optim.Adam(generator.parameters(), lr=1e-3)
d_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
for step in range(20):
    if step % 2:
        g_opt.zero_grad()
        bce(critic(generator(torch.randn(32, 4))), ones).backward()
        g_opt.step()
    else:
        with torch.no_grad():
            fake = generator(torch.randn(32, 4))
        d_opt.zero_grad()
        loss = bce(critic(torch.randn(32, 2) + 2), ones) + bce(critic(fake), zeros)
        loss.backward()
        d_opt.step()
