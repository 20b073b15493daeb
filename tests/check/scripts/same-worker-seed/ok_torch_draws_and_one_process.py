"""Noise drawn with torch in two workers, and a stream of the data set's own without any workers."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class WithTorch(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.randn(2) * 0.1 + i, torch.tensor([float(i)])


class WithStream(WithTorch):
    def __init__(self):
        self.rng = np.random.default_rng(3)

    def __getitem__(self, i):
        return torch.from_numpy(self.rng.normal(i, 0.1, 2)).float(), torch.tensor([float(i)])


torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for loader in (DataLoader(WithTorch(), batch_size=4, num_workers=2), DataLoader(WithStream(), batch_size=4)):
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
