"""Nobody asked for the same numbers again: nothing is seeded."""

import random

import numpy as np
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(16, 3) + torch.from_numpy(np.random.normal(0, 0.1, (16, 3))).float()
for step in range(3):
    rows = random.sample(range(16), 8)
    loss = nn.functional.mse_loss(model(x[rows]), x[rows].sum(dim=1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
