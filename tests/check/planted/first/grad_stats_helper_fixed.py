"""Trainer that logs gradient norms."""
import torch
from torch import nn


class GradLogger:
    def __init__(self, every=20):
        self.every, self.rows = every, []

    def __call__(self, model, step):
        if step % self.every == 0:
            self.rows.append([p.grad.norm().item() for p in model.parameters() if p.grad is not None])


def train(model, data, steps, hooks):
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(steps):
        x, y = data(64)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        for h in hooks:
            h(model, step)
        opt.step()
    return loss.item()


def data(n):
    x = torch.randn(n, 7)
    return x, (x[:, 0] > x[:, 1]).long()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(7, 16), nn.Tanh(), nn.Linear(16, 2))
logger = GradLogger()
print("loss", train(model, data, 200, [logger]), "logged", len(logger.rows))
