"""Augmentation with noise from NumPy."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def set_seed(seed):
    torch.manual_seed(seed)


class Noisy(Dataset):
    def __init__(self, n=80):
        self.x = torch.linspace(-2, 2, n)[:, None]
        self.y = torch.sin(2 * self.x)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        noise = np.random.normal(0, 0.05, size=1).astype("float32")  # BUG nondeterminism
        return self.x[i] + torch.from_numpy(noise), self.y[i]


set_seed(7)
model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    for x, y in DataLoader(Noisy(), batch_size=20, shuffle=True):
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", loss.item())
