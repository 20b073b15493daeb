"""A trainer class whose step returns the loss, and whose history keeps it in dictionaries."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.history = []

    def train_step(self, x, y):
        prediction = self.model(x).squeeze(1)
        loss = ((prediction - y) ** 2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

    def fit(self, data, epochs):
        for epoch in range(epochs):
            for x, y in data:
                loss = self.train_step(x, y)
                self.history.append({"epoch": epoch, "loss": loss})  # <- finding


torch.manual_seed(0)
data = [(torch.randn(10, 3), torch.randn(10)) for _ in range(4)]
trainer = Trainer(nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.Linear(8, 1)), lr=0.05)
trainer.fit(data, epochs=2)
print(f"{trainer.history[-1]['loss']:.3f}")
