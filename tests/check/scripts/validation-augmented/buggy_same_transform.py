"""Validation has a data set of its own, with the transform of training."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Rows(Dataset):
    def __init__(self, transform=None, seed=1):
        generator = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 2, (60,), generator=generator)
        self.x = torch.randn(60, 4, generator=generator) + self.y[:, None]
        self.transform = transform

    def __len__(self):
        return 60

    def __getitem__(self, i):
        x = self.x[i]
        return (x if self.transform is None else self.transform(x)), self.y[i]


def noise(x):
    return x + 0.3 * torch.randn_like(x)


train = DataLoader(Rows(noise), batch_size=10, shuffle=True)
held = DataLoader(Rows(noise, seed=2), batch_size=20)  # <- finding
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
        print(sum((model(rows).argmax(1) == labels).sum().item() for rows, labels in held))
