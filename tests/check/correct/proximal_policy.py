"""Proximal policy optimization: episodes are collected without gradients and learned from several times."""

import torch
from torch import nn


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.value = nn.Linear(4, 2), nn.Linear(4, 1)
        self.log_std = nn.Parameter(torch.zeros(2))

    def forward(self, state):
        return torch.distributions.Normal(self.mean(state), self.log_std.exp()), self.value(state).squeeze(-1)


torch.manual_seed(0)
model = ActorCritic()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for iteration in range(3):
    states, actions, log_probs, rewards = [], [], [], []
    with torch.no_grad():
        for _ in range(16):
            state = torch.randn(4)
            policy, _ = model(state)
            action = policy.sample()
            states.append(state)
            actions.append(action)
            log_probs.append(policy.log_prob(action).sum(-1))
            rewards.append(-(action - state[:2]).pow(2).sum())
    states, actions, log_probs, rewards = map(torch.stack, (states, actions, log_probs, rewards))
    for _ in range(3):
        policy, values = model(states)
        ratio = (policy.log_prob(actions).sum(-1) - log_probs).exp()
        advantage = rewards - values.detach()
        clipped = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
        loss = -clipped.mean() + 0.5 * (values - rewards).pow(2).mean() - 0.01 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    print(iteration, rewards.mean().item())
