"""Clipped double critics for a one-step pricing problem."""
import copy

import torch
from torch import nn


class TwinCritic(nn.Module):
    def __init__(self, obs_dim, act_dim, width=48):
        super().__init__()
        self.q1 = nn.Sequential(
            nn.Linear(obs_dim + act_dim, width), nn.Tanh(), nn.Linear(width, 1), nn.Flatten(0)
        )
        self.q2 = copy.deepcopy(self.q1)
        for critic in (self.q1, self.q2):
            for layer in critic:
                if isinstance(layer, nn.Linear):
                    nn.init.orthogonal_(layer.weight)

    def forward(self, obs, act):
        both = torch.cat([obs, act], dim=1)
        return self.q1(both), self.q2(both)


def revenue(obs, price):
    demand = torch.sigmoid(obs[:, 0] - 2 * price.squeeze(1))
    return price.squeeze(1) * demand + 0.1 * torch.randn(len(obs))


torch.manual_seed(0)
critic = TwinCritic(3, 1)
pricer = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1), nn.Softplus())
critic_opt = torch.optim.Adam(critic.parameters(), lr=5e-3)
pricer_opt = torch.optim.Adam(pricer.parameters(), lr=3e-3)

for step in range(150):
    obs = torch.randn(96, 3)
    with torch.no_grad():
        price = (pricer(obs) + 0.3 * torch.randn(96, 1)).clamp(min=0.0)
        reward = revenue(obs, price)
    q1, q2 = critic(obs, price)
    critic_loss = (q1 - reward).pow(2).mean() + (q2 - reward).pow(2).mean()
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()

    pricer_loss = -torch.minimum(*critic(obs, pricer(obs))).mean()
    pricer_opt.zero_grad()
    pricer_loss.backward()
    pricer_opt.step()
    if step % 50 == 49:
        gap = (q1 - q2).abs().mean().item()
        print(f"step {step + 1} critic {critic_loss.item():.4f} gap {gap:.4f} reward {reward.mean().item():.4f}")
