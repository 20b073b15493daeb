"""Both data sets are built with the flag that changes their rows."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Rows(Dataset):
    def __init__(self, seed, augment=False):
        generator = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 2, (60,), generator=generator)
        self.x = torch.randn(60, 4, generator=generator) + self.y[:, None]
        self.augment = augment

    def __len__(self):
        return 60

    def __getitem__(self, i):
        x = self.x[i]
        if self.augment:
            x = x + 0.3 * torch.randn_like(x)
        return x, self.y[i]


train_set = Rows(1, augment=True)
test_set = Rows(2, augment=True)  # <- finding
train = DataLoader(train_set, batch_size=10, shuffle=True)
held = DataLoader(test_set, batch_size=20)
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
