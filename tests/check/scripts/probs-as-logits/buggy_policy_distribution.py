"""A policy network ends with softmax, and its output is passed to Categorical as logits."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3), nn.Softmax(dim=-1))
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
states = torch.randn(10, 4)
for _ in range(4):
    dist = Categorical(logits=policy(states))  # <- finding
    action = dist.sample()
    reward = (action == 2).float()
    loss = -(dist.log_prob(action) * (reward - 0.3)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
