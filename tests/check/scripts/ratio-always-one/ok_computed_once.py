"""The old log-probabilities are computed once, before the updates."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 3))
optimizer, best = torch.optim.Adam(net.parameters(), lr=1e-2), torch.randn(5, 3)


def log_prob(observations, actions):
    return Categorical(logits=net(observations)).log_prob(actions)


for iteration in range(5):
    observations = torch.randn(64, 5)
    with torch.no_grad():
        actions = Categorical(logits=net(observations)).sample()
        old = log_prob(observations, actions)
    rewards = (actions == (observations @ best).argmax(1)).float()
    advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
    for _ in range(3):
        for rows in torch.randperm(64).split(32):
            ratio = (log_prob(observations[rows], actions[rows]) - old[rows]).exp()
            loss = -torch.min(ratio * advantages[rows], ratio.clamp(0.8, 1.2) * advantages[rows]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(iteration, rewards.mean().item())
