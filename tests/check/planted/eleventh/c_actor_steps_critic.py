"""Actor and critic on a bandit with context."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
actor_opt = torch.optim.Adam(actor.parameters(), lr=2e-2)
critic_opt = torch.optim.Adam(critic.parameters(), lr=2e-2)
start = actor[0].weight.detach().clone()
best = torch.randn(4, 3)

rewards = []
for episode in range(50):
    state = torch.randn(32, 4)
    policy = Categorical(logits=actor(state))
    action = policy.sample()
    reward = ((state @ best).argmax(1) == action).float()
    value = critic(state).squeeze(1)
    advantage = reward - value

    critic_loss = advantage.pow(2).mean()
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()

    actor_loss = -(policy.log_prob(action) * advantage.detach()).mean()
    actor_opt.zero_grad()
    actor_loss.backward()  # BUG backward-without-step|step-without-backward
    critic_opt.step()  # BUG backward-without-step|step-without-backward
    rewards.append(reward.mean().item())
print("reward", round(sum(rewards[-10:]) / 10, 3), "moved", bool((actor[0].weight != start).any()))
