"""Learning rates are compared from the same beginning: each run is seeded, with the same masks in all of them."""

import torch
from torch import nn


def run(lr):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Dropout(0.25), nn.Linear(48, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    x = torch.randn(32, 4)
    for _ in range(4):
        loss = nn.functional.mse_loss(model(x), x[:, :1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


print({lr: run(lr) for lr in (0.01, 0.03, 0.1, 0.3)})
