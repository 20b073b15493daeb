"""Generalized advantages in which the flag of an ended episode stands for its opposite."""

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Linear(3, 1)
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
for step in range(6):
    states, rewards = torch.randn(12, 16, 3), torch.randn(12, 16)
    done = (torch.rand(12, 16) < 0.1).float()
    with torch.no_grad():
        values = critic(states).squeeze(-1)
    running, returns = torch.zeros(16), torch.zeros(12, 16)
    for t in reversed(range(11)):
        keep = done[t]
        delta = rewards[t] + 0.9 * values[t + 1] * keep - values[t]  # <- finding
        running = delta + 0.8 * keep * running
        returns[t] = running + values[t]
    loss = nn.functional.mse_loss(critic(states[:-1]).squeeze(-1), returns[:-1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
