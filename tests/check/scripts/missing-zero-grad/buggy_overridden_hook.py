"""A subclass takes the place of the hook that clears the gradients."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def after_batch(self, loss):
        self.optimizer.zero_grad()

    def fit(self, x, y, epochs):
        for _ in range(epochs):
            for rows in torch.randperm(len(x)).split(40):
                loss = nn.functional.cross_entropy(self.model(x[rows]), y[rows])
                loss.backward()
                self.optimizer.step()
                self.after_batch(loss)


class Logging(Trainer):
    losses = ()

    def after_batch(self, loss):  # <- finding
        self.losses = (*self.losses, loss.item())


torch.manual_seed(0)
x = torch.randn(160, 6)
y = (x[:, 0] > 0).long()
model = nn.Linear(6, 2)
trainer = Logging(model, torch.optim.SGD(model.parameters(), lr=0.05))
trainer.fit(x, y, 3)
print(trainer.losses[-1])
