"""The critic's gradients are cleared after its step, so those of the generator's loss stay in them."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
critic = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3)
for step in range(6):
    fake = generator(torch.randn(16, 4))
    loss_d = critic(fake.detach()).mean() - critic(torch.randn(16, 2) + 1.0).mean()
    loss_d.backward()  # <- finding
    opt_d.step()
    opt_d.zero_grad()
    loss_g = -critic(fake).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
print(loss_d.item(), loss_g.item())
