"""Reproducible experiments (so it says) on toy crops with augmentation."""
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def seed_everything(seed):
    random.seed(seed)
    torch.manual_seed(seed)  # BUG nondeterminism
    torch.use_deterministic_algorithms(True)


class Crops(Dataset):
    def __init__(self, images, labels, augment):
        self.images, self.labels, self.augment = images, labels, augment

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = self.images[i]
        if self.augment:
            dy, dx = np.random.randint(0, 4, size=2)  # BUG nondeterminism
            if random.random() < 0.5:
                image = image.flip(-1)
        else:
            dy = dx = 2
        return image[:, dy:dy + 12, dx:dx + 12], self.labels[i]


def toy(n):
    labels = torch.arange(n) % 2
    images = 0.3 * torch.randn(n, 1, 16, 16)
    images[labels == 1, :, 4:12, 4:12] += 0.8
    return images, labels


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3)
        self.fc = nn.Linear(6 * 25, 2)

    def forward(self, x):
        return self.fc(torch.max_pool2d(torch.relu(self.conv(x)), 2).flatten(1))


def main(seed=2024):
    seed_everything(seed)  # BUG nondeterminism
    loader = DataLoader(Crops(*toy(128), augment=True), batch_size=32, shuffle=True)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for epoch in range(3):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


main()
