"""The target network should follow slowly, by `tau`."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
states, rewards, after = torch.randn(60, 3), torch.rand(60, 1), torch.randn(60, 3)
critic = nn.Linear(3, 1)
target, tau = copy.deepcopy(critic), 0.005
optimizer = torch.optim.SGD(critic.parameters(), lr=0.01)
for _ in range(2):
    for k in range(0, 60, 10):
        with torch.no_grad():
            wanted = rewards[k : k + 10] + 0.9 * target(after[k : k + 10])
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(critic(states[k : k + 10]), wanted)
        loss.backward()
        optimizer.step()
        for t, p in zip(target.parameters(), critic.parameters()):
            t.data.mul_(tau).add_(p.data, alpha=1 - tau)  # <- finding
print(loss.item())
