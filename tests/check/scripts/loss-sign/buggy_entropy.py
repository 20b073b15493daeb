"""The entropy of a policy is added to the loss instead of subtracted."""

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
    surrogate = -(choices.log_prob(actions) * (rewards - 0.5)).mean()
    loss = surrogate + 0.01 * choices.entropy().mean()  # <- finding
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(rewards.mean().item())
