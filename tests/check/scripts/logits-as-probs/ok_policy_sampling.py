"""Sampling actions from softmax, from weights that are no probabilities, and from a distribution given its logits."""

import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
states = torch.randn(12, 4)
for _ in range(4):
    logits = policy(states)
    action = torch.multinomial(torch.softmax(logits, dim=-1), 1).squeeze(1)
    other = torch.distributions.Categorical(logits=logits).sample()
    rare = torch.multinomial(torch.relu(logits.detach()) + 0.1, 1).squeeze(1)
    reward = (action == 1).float() - 0.1 * (other == rare).float()
    chosen = torch.log_softmax(logits, dim=-1).gather(1, action[:, None]).squeeze(1)
    loss = -(chosen * (reward - reward.mean())).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
