"""Probabilities are divided, and the old policy is synchronised inside the loop over epochs."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
behind = copy.deepcopy(policy).requires_grad_(False)
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)


def probability(net, states, actions):
    return net(states).softmax(-1).gather(1, actions[:, None]).squeeze(1)


for iteration in range(4):
    states = torch.randn(64, 6)
    with torch.no_grad():
        actions = torch.distributions.Categorical(logits=policy(states)).sample()
    gains = (actions == states[:, :4].argmax(1)).float() - 0.25
    for epoch in range(3):
        behind.load_state_dict(policy.state_dict())
        before = probability(behind, states, actions)  # <- finding
        ratio = probability(policy, states, actions) / before
        loss = -torch.min(ratio * gains, ratio.clamp(0.9, 1.1) * gains).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(iteration, loss.item())
