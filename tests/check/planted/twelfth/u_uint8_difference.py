"""Motion between two frames: the difference of two pictures is the input."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Frames(Dataset):
    def __init__(self, n=96):
        rng = np.random.default_rng(56)
        self.a = rng.integers(40, 90, (n, 64), dtype=np.uint8)
        self.label = rng.integers(0, 2, n)
        shift = np.where(self.label[:, None] == 1, 25, -25)
        self.b = (self.a.astype(np.int16) + shift).astype(np.uint8)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        diff = torch.from_numpy(self.b[i]) - torch.from_numpy(self.a[i])  # BUG label-dtype|device-dtype-mixed
        return diff.float() / 255, int(self.label[i])  # BUG label-dtype|device-dtype-mixed


torch.manual_seed(0)
loader = DataLoader(Frames(), batch_size=24, shuffle=True)
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
