"""What NumPy does to labels before PyTorch sees them: 300 classes in eight bits, and prices without their cents."""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
words = (np.arange(320) % 300).astype("uint8")  # <- finding
prices = np.array(rng.uniform(0, 3, 320), dtype=np.int64)  # <- finding
torch.manual_seed(0)
x = torch.randn(320, 6)
y, z = torch.from_numpy(words).long(), torch.from_numpy(prices).float()
model, other = nn.Linear(6, 300), nn.Linear(6, 1)
optimizer = torch.optim.SGD([*model.parameters(), *other.parameters()], lr=0.1)
for rows in torch.arange(320).split(64):
    loss = nn.functional.cross_entropy(model(x[rows]), y[rows]) + nn.functional.mse_loss(other(x[rows]).squeeze(1), z[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
