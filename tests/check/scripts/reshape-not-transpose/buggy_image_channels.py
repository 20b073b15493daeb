"""Images with channels last, reshaped to channels first."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def load(count):
    pixels = np.random.RandomState(0).randint(0, 256, (count, 8, 8, 3)).astype(np.float32)
    images = torch.from_numpy(pixels) / 255
    return images.reshape(-1, 3, 8, 8)  # <- finding


torch.manual_seed(0)
loader = DataLoader(TensorDataset(load(16), torch.randint(0, 2, (16,))), batch_size=8)
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in loader:
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
