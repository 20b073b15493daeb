"""A soft update writes the trained network into the target."""

import copy

import torch
from torch import nn


@torch.no_grad()
def soft_update(source, target, tau=0.05):
    for p, q in zip(source.parameters(), target.parameters()):
        q.lerp_(p, tau)


torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
target = copy.deepcopy(policy).requires_grad_(False)
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for _ in range(12):
    s, s2, reward = torch.randn(16, 4), torch.randn(16, 4), torch.randn(16, 1)
    with torch.no_grad():
        y = reward + 0.9 * target(s2)
    loss = nn.functional.mse_loss(policy(s), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    soft_update(policy, target)
print(loss.item())
