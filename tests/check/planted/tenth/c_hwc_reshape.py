"""Color images from arrays, channels last."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Tiles(Dataset):
    def __init__(self, n=96, size=8):
        rng = np.random.default_rng(0)
        self.labels = rng.integers(0, 3, n)
        self.images = rng.integers(0, 120, (n, size, size, 3)).astype(np.uint8)
        for image, label in zip(self.images, self.labels):
            image[..., label] += 60

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = torch.from_numpy(self.images[i]).float() / 255
        image = image.reshape(3, 8, 8)  # BUG reshape-not-transpose
        return image, int(self.labels[i])


torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3)
)
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
for epoch in range(8):
    for x, y in DataLoader(Tiles(), batch_size=24, shuffle=True):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", round(loss.item(), 3))
