"""Advantage actor-critic: two networks, two optimizers."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(69)
actor = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 2))
critic = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
actor_opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-2)

for episode in range(40):
    obs = torch.randn(48, 4)
    dist = Categorical(logits=actor(obs))
    action = dist.sample()
    returns = torch.where(action == (obs[:, 0] > 0).long(), 1.0, -1.0)
    value = critic(obs).squeeze(-1)
    advantage = returns - value.detach()
    policy_loss = -(dist.log_prob(action) * advantage).mean()
    value_loss = nn.functional.mse_loss(value.detach(), returns)  # BUG step-without-backward|gradient-cut
    actor_opt.zero_grad()
    critic_opt.zero_grad()
    (policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()).backward()  # BUG step-without-backward|gradient-cut
    actor_opt.step()
    critic_opt.step()  # BUG step-without-backward|gradient-cut
print(policy_loss.item(), value_loss.item())
