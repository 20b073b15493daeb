"""A critic whose weights should stay small."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(40, 3)
critic = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
for _ in range(3):
    optimizer.zero_grad()
    (critic(x + 1).mean() - critic(x).mean()).backward()
    optimizer.step()
    with torch.no_grad():
        for p in critic.parameters():
            p.clamp(-0.1, 0.1)  # <- finding
