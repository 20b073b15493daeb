"""The critic is stepped between the forward pass and the backward pass of the actor that goes through it."""

import torch
from torch import nn


class Agent:
    def __init__(self):
        self.actor = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
        self.critic = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=0.01)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=0.01)

    def learn(self, state, action, target):
        actor_loss = -self.critic(torch.cat([state, self.actor(state)], 1)).mean()
        critic_loss = (self.critic(torch.cat([state, action], 1)) - target).pow(2).mean()
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()  # <- finding
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()


torch.manual_seed(0)
agent = Agent()
for _ in range(3):
    agent.learn(torch.randn(8, 3), torch.randn(8, 2), torch.randn(8, 1))
