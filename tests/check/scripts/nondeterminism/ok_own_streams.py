"""Streams of one's own, with seeds, leave the common ones alone."""

import random

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng, choice = np.random.default_rng(5), random.Random(5)
state = np.random.RandomState(1)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.from_numpy(rng.normal(size=(20, 3))).float()
y = torch.from_numpy(state.rand(20, 1)).float()
for step in range(4):
    rows = choice.sample(range(20), 10)
    loss = nn.functional.mse_loss(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
