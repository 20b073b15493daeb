"""REINFORCE on a bandit with context."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(35)
policy = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 3), nn.Softmax(dim=-1))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
best = torch.randn(4, 3)

for episode in range(60):
    state = torch.randn(32, 4)
    probs = policy(state)
    dist = Categorical(logits=probs)  # BUG logits-as-probs|probs-as-logits
    action = dist.sample()
    reward = ((state @ best).argmax(1) == action).float()
    advantage = reward - reward.mean()
    loss = -(dist.log_prob(action) * advantage).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if episode % 20 == 19:
        print(episode, reward.mean().item())
