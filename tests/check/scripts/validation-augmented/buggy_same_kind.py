"""Each data set makes a transform of its own, and both are random."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Jitter:
    def __init__(self, size):
        self.size = size

    def __call__(self, x):
        return x + self.size * torch.randn_like(x)


class Rows(Dataset):
    def __init__(self, seed, transform):
        generator = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 2, (60,), generator=generator)
        self.x = torch.randn(60, 4, generator=generator) + self.y[:, None]
        self.transform = transform

    def __len__(self):
        return 60

    def __getitem__(self, i):
        return self.transform(self.x[i]), self.y[i]


train = DataLoader(Rows(1, Jitter(0.3)), batch_size=10, shuffle=True)
held = DataLoader(Rows(2, Jitter(0.3)), batch_size=20)  # <- finding
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model.train()
    for rows, labels in train:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(rows), labels).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(r).argmax(1) == t).sum().item() for r, t in held)
    print(right / 60)
