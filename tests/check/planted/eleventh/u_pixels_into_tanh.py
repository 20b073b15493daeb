"""Bytes of images go straight into a network with tanh."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    def __init__(self, n=120):
        rng = np.random.default_rng(0)
        self.images = rng.integers(0, 256, (n, 8, 8)).astype(np.uint8)
        self.labels = (self.images[:, :4].mean((1, 2)) > self.images[:, 4:].mean((1, 2))).astype(int)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return torch.tensor(self.images[i]).float(), int(self.labels[i])  # BUG vanishing-gradient


torch.manual_seed(0)
model = nn.Sequential(
    nn.Flatten(), nn.Linear(64, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 2)
)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(6):
    for x, y in DataLoader(Digits(), batch_size=24, shuffle=True):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
saturated = (torch.tanh(model[1](model[0](x))).abs() > 0.999).float().mean()
print("loss", round(loss.item(), 3), "saturated", round(saturated.item(), 3))
