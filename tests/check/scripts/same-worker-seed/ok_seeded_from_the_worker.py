"""The recipe of the documentation: each worker's NumPy and Python streams are seeded from its torch seed."""

import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def seed_worker(worker_id):
    worker_seed = torch.initial_seed() % 2**32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


class Noisy(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return torch.tensor([i / 12 + np.random.normal(0, 0.1)]).float(), torch.tensor([i / 12])


g = torch.Generator()
g.manual_seed(0)
torch.manual_seed(0)
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(Noisy(), batch_size=4, num_workers=2, worker_init_fn=seed_worker, generator=g):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
