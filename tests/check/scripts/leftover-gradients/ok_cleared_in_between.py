"""The fakes are not detached, which costs time only: the gradients are cleared in between."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
critic = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-3)
opt_d = torch.optim.Adam(critic.parameters(), lr=2e-3)
for step in range(6):
    fake = generator(torch.randn(16, 4))
    opt_d.zero_grad()
    loss_d = critic(fake).mean() - critic(torch.randn(16, 2)).mean()
    loss_d.backward(retain_graph=True)
    opt_d.step()
    opt_g.zero_grad()
    loss_g = -critic(fake).mean()
    loss_g.backward()
    opt_g.step()
print(loss_d.item(), loss_g.item())
