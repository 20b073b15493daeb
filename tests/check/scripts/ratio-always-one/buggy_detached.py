"""Minibatches, and the log-probabilities themselves, detached, as the old ones."""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
mean, log_std = nn.Linear(4, 2), nn.Parameter(torch.zeros(2))
optimizer = torch.optim.Adam([*mean.parameters(), log_std], lr=3e-3)
for iteration in range(4):
    states = torch.randn(64, 4)
    with torch.no_grad():
        actions = Normal(mean(states), log_std.exp()).sample()
    advantages = -(actions - states[:, :2]).pow(2).sum(1)
    advantages = (advantages - advantages.mean()) / advantages.std()
    for _ in range(2):
        for rows in torch.randperm(64).split(32):
            log_probs = Normal(mean(states[rows]), log_std.exp()).log_prob(actions[rows]).sum(-1)
            old = log_probs.detach()  # <- finding
            ratio = (log_probs - old).exp()
            clipped = torch.clamp(ratio, 1 - 0.2, 1 + 0.2)
            loss = -torch.min(ratio * advantages[rows], clipped * advantages[rows]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(iteration, loss.item())
