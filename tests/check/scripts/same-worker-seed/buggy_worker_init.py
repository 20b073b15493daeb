"""A worker_init_fn that seeds every worker with the same number."""

import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SEED = 1234


def init_worker(worker_id):
    np.random.seed(SEED)  # <- finding
    random.seed(SEED)


class Augmented(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        x = np.full(3, i / 12, dtype=np.float32) + np.random.normal(0, 0.05, 3).astype(np.float32)
        return torch.from_numpy(x), torch.tensor([i / 12])


torch.manual_seed(SEED)
model = nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for x, y in DataLoader(Augmented(), batch_size=3, num_workers=2, worker_init_fn=init_worker):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
