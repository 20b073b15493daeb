"""One update for each rollout: the ratio is one there, and only its gradient matters. The states are the same each time."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
net = nn.Linear(8, 4)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-2)
states = torch.eye(8).repeat(8, 1)
best = torch.randint(0, 4, (64,))
for iteration in range(8):
    policy = Categorical(logits=net(states))
    actions = policy.sample()
    log_probs = policy.log_prob(actions)
    rewards = (actions == best).float() - 0.25
    ratio = (log_probs - log_probs.detach()).exp()
    loss = -torch.min(ratio * rewards, ratio.clamp(0.8, 1.2) * rewards).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(iteration, rewards.mean().item())
