"""The policy's loss is multiplied by an advantage with a graph."""

import torch
from torch import nn

torch.manual_seed(0)
policy, value = nn.Linear(3, 2), nn.Linear(3, 1)
optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=1e-3)
for step in range(6):
    states = torch.randn(32, 3)
    choices = torch.distributions.Categorical(logits=policy(states))
    actions = choices.sample()
    returns = (actions == (states[:, 0] > 0).long()).float()
    values = value(states).squeeze(1)
    advantage = returns - values
    actor = -(choices.log_prob(actions) * advantage).mean()  # <- finding
    loss = actor + nn.functional.mse_loss(values, returns)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
