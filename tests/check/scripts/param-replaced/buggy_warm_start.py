"""Warm start from an earlier model of another plant, then train on the own data."""

import io

import torch
from torch import nn


class Emission(nn.Module):
    def __init__(self, features=7, width=32):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x).squeeze(-1)


class Experiment:
    def __init__(self, lr):
        self.net = Emission()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.loss_fn = nn.MSELoss()

    def save(self):
        buffer = io.BytesIO()
        torch.save(self.net.state_dict(), buffer)
        return buffer.getvalue()

    def restore(self, blob):
        weights = torch.load(io.BytesIO(blob), weights_only=True)
        self.net.load_state_dict(weights, assign=True)  # <- finding

    def fit(self, x, y, steps, batch=64):
        for _ in range(steps):
            idx = torch.randint(0, len(x), (batch,))
            loss = self.loss_fn(self.net(x[idx]), y[idx])
            self.net.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()

    @torch.no_grad()
    def score(self, x, y):
        return self.loss_fn(self.net(x), y).item()


def plant(n, shift):
    x = torch.randn(n, 7)
    return x, torch.sin(x[:, 0] + shift) + 0.5 * x[:, 1] * x[:, 2] + 0.05 * torch.randn(n)


torch.manual_seed(0)
first = Experiment(lr=5e-3)
print("first plant", first.fit(*plant(1000, 0.0), steps=100))
own, test = plant(600, 1.5), plant(200, 1.5)
second = Experiment(lr=5e-3)
second.restore(first.save())
print("before", second.score(*test))
print("training", second.fit(*own, steps=100))
print("after", second.score(*test))
