"""A policy is to please a critic, and its actions are drawn without a gradient."""

import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Linear(3, 2)
critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
of_policy = torch.optim.Adam(policy.parameters(), lr=0.01)
of_critic = torch.optim.Adam(critic.parameters(), lr=0.01)
for step in range(12):
    states, tried = torch.randn(32, 3), torch.randn(32, 1)
    wanted = -(tried - states[:, :1]).pow(2)
    loss = nn.functional.mse_loss(critic(torch.cat([states, tried], 1)), wanted)
    of_critic.zero_grad()
    loss.backward()
    of_critic.step()

    mean, spread = policy(states).chunk(2, dim=1)
    normal = torch.distributions.Normal(mean, spread.exp())
    action = normal.sample()  # <- finding
    value = critic(torch.cat([states, action], 1))
    loss = -(value.mean() + 0.01 * normal.entropy().mean())
    of_policy.zero_grad()
    loss.backward()
    of_policy.step()
print(loss.item())
