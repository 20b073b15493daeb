"""Arrays that are split into windows and joined again."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
series = np.random.default_rng(0).normal(size=(40, 6)).astype("float32")
windows = series.reshape(8, 5, 6).reshape(8, 30)
images = np.transpose(np.reshape(windows, (8, 5, 6, 1)), (0, 3, 1, 2))
x, y = torch.tensor(images.copy()), torch.randint(0, 2, (8,))
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(5):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
