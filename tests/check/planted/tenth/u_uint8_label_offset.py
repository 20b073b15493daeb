"""Depth maps stored as bytes; zero depth is 128."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Depth(Dataset):
    def __init__(self, n=80):
        rng = np.random.default_rng(1)
        self.image = rng.random((n, 1, 6, 6)).astype("float32")
        self.depth = np.clip(128 + 100 * (self.image[:, 0] - 0.5), 0, 255).astype(np.uint8)

    def __len__(self):
        return len(self.image)

    def __getitem__(self, i):
        depth = torch.from_numpy(self.depth[i] - 128).float() / 128  # BUG label-dtype|device-dtype-mixed
        return torch.from_numpy(self.image[i]), depth[None]


torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 8, 1), nn.ReLU(), nn.Conv2d(8, 1, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(8):
    for x, d in DataLoader(Depth(), batch_size=20, shuffle=True):
        loss = nn.functional.mse_loss(model(x), d)
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", round(loss.item(), 4))
