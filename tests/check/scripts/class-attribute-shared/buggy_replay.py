"""Two agents, and one memory that neither meant to share."""

import torch
from torch import nn

torch.manual_seed(0)


class Agent:
    memory = []  # <- finding

    def __init__(self, size):
        self.model = nn.Linear(size, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def learn(self, state, reward):
        self.memory.extend([(state, reward)])
        states = torch.stack([s for s, _ in self.memory])
        rewards = torch.tensor([r for _, r in self.memory])
        loss = nn.functional.mse_loss(self.model(states)[:, 0], rewards)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


first, second = Agent(3), Agent(3)
for _ in range(5):
    first.learn(torch.randn(3), 1.0)
    second.learn(torch.randn(3), -1.0)
print(len(first.memory))
