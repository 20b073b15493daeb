"""A trainer whose reset makes the model anew and forgets the optimizer."""

import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


class Trainer:
    def __init__(self):
        self.model = build()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def reset(self):
        self.model = build()  # <- finding

    def fit(self):
        for _ in range(3):
            loss = self.model(torch.randn(4, 3)).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
trainer = Trainer()
print(trainer.fit())
trainer.reset()
print(trainer.fit())
