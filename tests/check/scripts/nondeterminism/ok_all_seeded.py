"""All streams are seeded, before anything is drawn."""

import random

import numpy as np
import torch
from torch import nn


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


set_seed(11)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.from_numpy(np.random.randn(24, 4)).float()
y = torch.tensor([random.randrange(2) for _ in range(24)])
for step in range(4):
    rows = torch.from_numpy(np.random.permutation(24)[:8])
    loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
