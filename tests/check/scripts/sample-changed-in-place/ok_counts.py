"""A data set counts how often it gave each row, and writes into a buffer of its own."""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Rows(Dataset):
    def __init__(self):
        self.x = torch.randn(20, 5)
        self.given, self.buffer = np.zeros(20, int), torch.zeros(5)

    def __len__(self):
        return 20

    def __getitem__(self, i):
        self.given[i] += 1
        self.buffer.copy_(self.x[i])
        self.buffer.add_(0.1 * torch.randn(5))
        return self.buffer.clone()


data = Rows()
for _ in range(4):
    for x in DataLoader(data, batch_size=5):
        pass
print(data.given.sum())
