"""The rate of a configuration's field, multiplied by the batch size of a run on many machines."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    batch: int = 32
    rate: float = 4.0  # <- finding
    steps: int = 20


def train(config):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=config.rate)
    for step in range(config.steps):
        x = torch.randn(config.batch, 6)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


print(train(Config()))
