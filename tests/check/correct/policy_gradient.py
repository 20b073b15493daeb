"""REINFORCE on a bandit with a learned baseline: actions are sampled, log-probabilities are weighted by detached advantages."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
arms = torch.tensor([0.1, 0.5, 0.9])
policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 3))
critic = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam([{"params": policy.parameters()}, {"params": critic.parameters(), "lr": 0.02}], lr=0.01)
average = 0.0
for episode in range(25):
    context = torch.randn(16, 2)
    distribution = Categorical(logits=policy(context))
    action = distribution.sample()
    reward = torch.bernoulli(arms[action])
    value = critic(context).squeeze(-1)
    advantage = (reward - value).detach()
    policy_loss = -(distribution.log_prob(action) * advantage).mean() - 0.01 * distribution.entropy().mean()
    loss = policy_loss + 0.5 * nn.functional.mse_loss(value, reward)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average = 0.9 * average + 0.1 * reward.mean().item()
print(f"{average:.3f}")
