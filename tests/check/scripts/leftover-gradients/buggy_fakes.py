"""The fakes of a GAN are not detached, and the generator's gradients are not cleared after that."""

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
    opt_g.zero_grad()
    opt_d.zero_grad()
    fake = generator(torch.randn(16, 4))
    real = torch.randn(16, 2) + 1.0
    loss_d = bce(critic(real), ones)
    loss_d = loss_d + bce(critic(fake), zeros)  # <- finding
    loss_d.backward(retain_graph=True)
    opt_d.step()
    loss_g = bce(critic(fake), ones)
    loss_g.backward()
    opt_g.step()
print(loss_d.item(), loss_g.item())
