import os

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

WORLD = 4


class Curves(Dataset):
    def __init__(self, count):
        self.x = torch.rand(count, 3)
        self.y = (self.x[:, 0] * self.x[:, 1] - self.x[:, 2]).unsqueeze(1)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, k):
        return self.x[k], self.y[k]


class Trainer:
    def __init__(self):
        data = Curves(256)
        rank = int(os.environ.get("RANK", 0))
        self.sampler = DistributedSampler(data, WORLD, rank)  # <- finding
        self.loader = DataLoader(data, batch_size=16, sampler=self.sampler)
        self.model = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=5e-3)

    def epoch(self, number):
        self.sampler.set_epoch(number)
        total = 0.0
        for x, y in self.loader:
            self.optimizer.zero_grad()
            loss = nn.functional.mse_loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.loader)


torch.manual_seed(6)
trainer = Trainer()
for number in range(5):
    print(number, round(trainer.epoch(number), 4))
