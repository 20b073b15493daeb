"""Weights that are written between steps: clipping of a critic, averages of a teacher, constraints, initial values."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
nn.init.orthogonal_(critic[0].weight)
critic[2].bias.data.fill_(0.1)
teacher = copy.deepcopy(critic)
optimizer = torch.optim.RMSprop(critic.parameters(), lr=0.01)
for _ in range(4):
    loss = critic(torch.randn(8, 3)).mean() - critic(torch.randn(8, 3) + 1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for p in critic.parameters():
        p.data.clamp_(-0.1, 0.1)
    with torch.no_grad():
        for a, b in zip(teacher.parameters(), critic.parameters()):
            a.lerp_(b, 0.1)
        critic[0].weight /= critic[0].weight.norm(dim=1, keepdim=True)
print(loss.item())
