"""A cache with a key per step, in a trainer."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model
        self.cache = {}
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def fit(self, steps):
        for step in range(steps):
            x = torch.randn(32, 12)
            noise = 0.1 * torch.randn(32, 12)
            self.cache[step] = x + noise  # <- finding
            loss = (self.model(x + noise) - 1).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
print(Trainer(nn.Linear(12, 1)).fit(24))
