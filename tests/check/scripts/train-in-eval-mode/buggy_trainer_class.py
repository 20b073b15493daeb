"""A trainer whose validation is called every few steps in the middle of an epoch and leaves the network in eval mode."""

import torch
from torch import nn


class Trainer:
    def __init__(self, network, learning_rate):
        self.network = network
        self.optimizer = torch.optim.SGD(network.parameters(), lr=learning_rate, momentum=0.9)
        self.criterion = nn.MSELoss()

    def training_step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        prediction = self.network(x)
        loss = self.criterion(prediction, y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def validate(self, x, y):
        self.network.eval()  # <- finding
        return self.criterion(self.network(x), y).item()

    def fit(self, x, y, steps):
        self.network.train()
        for step in range(steps):
            rows = torch.randperm(len(x))[:12]
            loss = self.training_step(x[rows], y[rows])
            if step % 2 == 1:
                print(step, loss, self.validate(x, y))


torch.manual_seed(0)
net = nn.Sequential(nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten(), nn.Linear(24, 1))
x = torch.randn(32, 2, 8)
Trainer(net, 0.01).fit(x, x.mean(dim=(1, 2)).unsqueeze(1), 6)
