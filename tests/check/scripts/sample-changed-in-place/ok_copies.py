"""Copies are changed: of tensors, of arrays, and new tensors."""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Rows(Dataset):
    def __init__(self):
        self.x, self.z = torch.randn(20, 5), np.zeros((20, 5), np.float32)

    def __len__(self):
        return 20

    def __getitem__(self, i):
        x, z = self.x[i].clone(), self.z[i].copy()
        x += 0.1 * torch.randn(5)
        z += 1
        other = self.x[i] * 2
        other.mul_(0.5)
        return x, z, other


for _ in range(4):
    for x, z, other in DataLoader(Rows(), batch_size=5):
        pass
print(x.shape, z.mean().item(), other.shape)
