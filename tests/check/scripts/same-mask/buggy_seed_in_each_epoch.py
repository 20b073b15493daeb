"""A helper seeds every library; it is called once at the beginning, and again by each epoch."""

import random

import torch
from torch import nn


def seed_everything(seed=3):
    random.seed(seed)
    torch.manual_seed(seed)


def run_epoch(model, optimizer, x, y):
    seed_everything()  # <- finding
    for rows in torch.arange(len(x)).split(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()


seed_everything()
x = torch.randn(60, 8)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(8, 40), nn.ReLU(), nn.Dropout(0.5), nn.Linear(40, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    run_epoch(model, optimizer, x, y)
