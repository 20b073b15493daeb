"""Policy gradients with their signs: with rewards, with costs, clipped, with an entropy bonus."""

import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for step in range(6):
    states = torch.randn(32, 3)
    choices = torch.distributions.Categorical(logits=policy(states))
    actions = choices.sample()
    rewards = (actions == (states[:, 0] > 0).long()).float()
    advantages = rewards - rewards.mean()
    log_prob = choices.log_prob(actions)
    ratio = (log_prob - log_prob.detach()).exp()
    clipped = ratio.clamp(0.8, 1.2) * advantages
    surrogate = -torch.min(ratio * advantages, clipped).mean()
    costs = 1 - rewards
    expected = (log_prob * (costs - costs.mean())).mean()
    loss = surrogate + expected - 0.01 * choices.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(rewards.mean().item())
