"""Random crops drawn in data workers by a generator of the dataset."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Crops(Dataset):
    def __init__(self, n):
        self.rng = np.random.default_rng(3)  # BUG same-worker-seed
        self.x = torch.linspace(0, 12, 40).repeat(n, 1) * (1 + torch.arange(n)[:, None] % 2)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        start = int(self.rng.integers(0, 20))  # BUG same-worker-seed
        return self.x[i, start : start + 20].sin(), i % 2


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(Crops(64), batch_size=16, shuffle=True, num_workers=2)  # BUG same-worker-seed
    model = nn.Sequential(nn.Linear(20, 24), nn.ReLU(), nn.Linear(24, 2))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(loss.item())
