"""`optimizer.step` without the parentheses; and the critic is stepped, the generator never."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
generator, critic = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
g_optimizer = torch.optim.Adam(generator.parameters(), lr=0.01)
c_optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
for _ in range(4):
    real = torch.randn(16, 2) + 2
    fake = generator(torch.randn(16, 2))
    c_optimizer.zero_grad()
    c_loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
    c_loss.backward()
    c_optimizer.step()
    g_optimizer.zero_grad()
    critic.requires_grad_(False)
    g_loss = F.softplus(-critic(fake)).mean()
    g_loss.backward()
    critic.requires_grad_(True)
    g_optimizer.step  # <- finding
print(c_loss.item(), g_loss.item())
