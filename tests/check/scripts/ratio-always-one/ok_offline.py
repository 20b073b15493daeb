"""Offline: the old policy catches up with the new one after every three updates of the same samples."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
states, actions = torch.randn(96, 6), torch.randint(0, 4, (96,))
gains = (actions == states[:, :4].argmax(1)).float() - 0.25
policy = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
for iteration in range(4):
    behind = copy.deepcopy(policy).requires_grad_(False)
    for epoch in range(3):
        new = policy(states).log_softmax(-1).gather(1, actions[:, None]).squeeze(1)
        with torch.no_grad():
            old = behind(states).log_softmax(-1).gather(1, actions[:, None]).squeeze(1)
        ratio = (new - old).exp()
        loss = -torch.min(ratio * gains, ratio.clamp(0.8, 1.2) * gains).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(iteration, loss.item())
