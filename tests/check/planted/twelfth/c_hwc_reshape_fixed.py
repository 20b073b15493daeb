"""Small pictures come as (height, width, channel) from NumPy."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self, n):
        rng = np.random.default_rng(3)
        self.images = rng.integers(0, 90, size=(n, 12, 12, 3), dtype=np.uint8)
        self.labels = rng.integers(0, 3, size=n)
        for image, label in zip(self.images, self.labels):
            image[3:9, 3:9, label] += 120

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = torch.from_numpy(self.images[i]).float() / 255
        return image.permute(2, 0, 1), int(self.labels[i])


torch.manual_seed(0)
loader = DataLoader(Pictures(96), batch_size=24, shuffle=True)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 4 * 4, 3),
)
opt = torch.optim.Adam(model.parameters(), 2e-3)
for epoch in range(3):
    for image, label in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(image), label)
        loss.backward()
        opt.step()
    print("epoch", epoch, "loss", loss.item())
