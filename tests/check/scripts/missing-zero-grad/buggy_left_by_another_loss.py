"""The critic keeps what the actor's loss has left in it."""

import torch
from torch import nn


class Agent:
    def __init__(self):
        self.actor = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        self.critic = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 1))
        self.opts = dict(
            actor=torch.optim.Adam(self.actor.parameters(), lr=2e-3), critic=torch.optim.Adam(self.critic.parameters(), lr=3e-3)
        )

    def update(self, who, loss):
        self.opts[who].zero_grad()
        loss.backward()
        self.opts[who].step()

    def value(self, s, a):
        return self.critic(torch.cat([s, a], 1))

    def learn(self, s, a, r):
        critic_loss = nn.functional.mse_loss(self.value(s, a), r)
        critic_loss.backward()  # <- finding
        self.opts["critic"].step()
        actor_loss = -10 * self.value(s, self.actor(s)).mean()
        self.update("actor", actor_loss)
        return critic_loss.item()


def reward(s, a):
    return -(a - (s[:, :1] - s[:, 1:])).square()


torch.manual_seed(0)
agent = Agent()
for step in range(500):
    s = torch.rand(128, 2) * 2 - 1
    a = agent.actor(s).detach() + 0.5 * torch.randn(128, 1)
    c = agent.learn(s, a, reward(s, a))
    if step % 100 == 0:
        print(step, f"critic loss {c:.4f}")
s = torch.rand(1000, 2) * 2 - 1
print("reward of the actor", round(reward(s, agent.actor(s)).mean().item(), 4), "critic loss", round(c, 4))
