"""Images whose channels come last, reshaped in NumPy to have them first."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
images = np.random.default_rng(0).normal(size=(32, 8, 8, 3)).astype("float32")
images = images.reshape(32, 3, 8, 8)  # <- finding
x, y = torch.tensor(images), torch.randint(0, 2, (32,))
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(5):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
