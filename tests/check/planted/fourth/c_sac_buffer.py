import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)


class ReplayBuffer:
    def __init__(self, capacity=20):
        self.capacity = capacity
        self.storage = []

    def push(self, *transition):
        self.storage.append(transition)  # BUG memory-growth

    def sample(self):
        obs, act, rew = zip(*random.sample(self.storage, min(4, len(self.storage))))
        return torch.cat(obs), torch.cat(act), torch.cat(rew)


class Grid:
    """64 parallel greenhouse cells, 60 sensors each; the action is one valve position."""

    def __init__(self):
        self.weight = torch.randn(60) / 8

    def observe(self):
        return torch.randn(64, 60)

    def reward(self, obs, act):
        return -(act.squeeze(1) - torch.tanh(obs @ self.weight)) ** 2


grid, buffer = Grid(), ReplayBuffer()
actor = nn.Sequential(nn.Linear(60, 32), nn.Tanh(), nn.Linear(32, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(61, 64), nn.SiLU(), nn.Linear(64, 1))
actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=3e-3)

for step in range(200):
    obs = grid.observe()
    with torch.no_grad():
        act = (actor(obs) + 0.3 * torch.randn(64, 1)).clamp(-1, 1)
    buffer.push(obs, act, grid.reward(obs, act))

    obs, act, rew = buffer.sample()
    critic_loss = F.mse_loss(critic(torch.cat([obs, act], 1)).squeeze(1), rew)
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()

    actor_loss = -critic(torch.cat([obs, actor(obs)], 1)).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    if step % 50 == 49:
        print(f"step {step + 1} critic {critic_loss.item():.3f} reward {rew.mean().item():.3f}")
