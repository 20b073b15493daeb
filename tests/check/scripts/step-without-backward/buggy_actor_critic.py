import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(0)


class Thermostat:
    """One-step control problem: choose the heating that brings a room to its set point."""

    def observe(self, n):
        self.obs = torch.randn(n, 3)
        return self.obs

    def act(self, action):
        wanted = 0.8 * self.obs[:, 0] - 0.5 * self.obs[:, 1] + 0.3
        return -((action - wanted) ** 2)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, obs):
        return Normal(self.mean(obs).squeeze(-1), self.log_std.exp())


env, actor = Thermostat(), Actor()
critic = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
actor_opt = torch.optim.Adam(actor.parameters(), lr=5e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-2)

for it in range(200):
    obs = env.observe(128)
    dist = actor(obs)
    action = dist.sample()
    reward = env.act(action)
    value = critic(obs).squeeze(-1)

    critic_loss = (value - reward).pow(2).mean()
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()

    advantage = (reward - value).detach()
    actor_loss = -(dist.log_prob(action) * advantage).mean()
    actor_opt.zero_grad()
    actor_opt.step()  # <- finding
    if it % 40 == 39:
        print(f"it {it + 1} reward {reward.mean().item():.3f} actor {actor_loss.item():.3f} critic {critic_loss.item():.3f}")
