# Reproducible training: the seed is set where each epoch starts
import random
import numpy as np
import torch
from torch import nn


def set_seed(seed=44):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def train_epoch(model, optimizer, x, y):
    model.train()
    for rows in torch.arange(len(x)).split(40):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    return loss.item()


set_seed()
x = torch.randn(240, 10)
y = (x[:, 0] * x[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Dropout(0.5), nn.Linear(40, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    print(epoch, train_epoch(model, optimizer, x, y))
