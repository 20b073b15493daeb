"""The old log-probabilities come from a method that asks the policy again."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)


class Agent:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 3))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-2)

    def log_prob(self, observations, actions):
        return Categorical(logits=self.net(observations)).log_prob(actions)

    @torch.no_grad()
    def frozen(self, observations, actions):
        return self.log_prob(observations, actions)

    def learn(self, observations, actions, advantages):
        for _ in range(4):
            ratio = torch.exp(self.log_prob(observations, actions) - self.frozen(observations, actions))  # <- finding
            loss = -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


agent, best = Agent(), torch.randn(5, 3)
for iteration in range(4):
    observations = torch.randn(64, 5)
    with torch.no_grad():
        actions = Categorical(logits=agent.net(observations)).sample()
    rewards = (actions == (observations @ best).argmax(1)).float()
    agent.learn(observations, actions, (rewards - rewards.mean()) / (rewards.std() + 1e-6))
    print(iteration, rewards.mean().item())
