"""The data set makes its stream when a worker first needs it; the one that it was split with is not used for samples."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Noisy(Dataset):
    def __init__(self, n):
        self.split = np.random.default_rng(0)
        self.order = self.split.permutation(n)
        self.rng = None

    def __len__(self):
        return len(self.order)

    def __getitem__(self, i):
        if self.rng is None:
            info = get_worker_info()
            self.rng = np.random.default_rng(None if info is None else info.seed)
        x = self.order[i] / len(self.order)
        return torch.tensor([x + self.rng.normal(0, 0.1)]).float(), torch.tensor([x]).float()


torch.manual_seed(0)
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(Noisy(12), batch_size=4, num_workers=2):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
