"""Samples that a critic judges: with `rsample()`; as an advantage of their log-probabilities; and
of a policy that the critic's own loss does not train.
"""

import torch
from torch import nn

torch.manual_seed(0)
policy, critic = nn.Linear(3, 2), nn.Linear(4, 1)
of_policy = torch.optim.Adam(policy.parameters(), lr=0.01)
of_critic = torch.optim.Adam(critic.parameters(), lr=0.01)
for step in range(12):
    states = torch.randn(32, 3)
    mean, spread = policy(states).chunk(2, dim=1)
    normal = torch.distributions.Normal(mean, spread.exp())
    action = normal.sample()
    reward = -(action - states[:, :1]).pow(2)
    judged = critic(torch.cat([states, action], 1))
    loss = -(normal.log_prob(action) * (reward - judged.detach())).mean()
    of_policy.zero_grad()
    loss.backward()
    of_policy.step()

    drawn = torch.distributions.Normal(*policy(states).exp().chunk(2, dim=1)).sample()
    loss = critic(torch.cat([states, drawn], 1)).mean() - critic(states.repeat(1, 2)[:, :4]).mean()
    of_critic.zero_grad()
    loss.backward()
    of_critic.step()

    mean, spread = policy(states).chunk(2, dim=1)
    action = torch.distributions.Normal(mean, spread.exp()).rsample()
    loss = -critic(torch.cat([states, action], 1)).mean()
    of_policy.zero_grad()
    loss.backward()
    of_policy.step()
print(loss.item())
