import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split

torch.manual_seed(59)


class Pictures(Dataset):
    def __init__(self, n, transform=None):
        self.y = torch.randint(0, 3, (n,))
        self.x = 0.4 * torch.randn(n, 1, 8, 8)
        for i, k in enumerate(self.y.tolist()):
            self.x[i, 0, :, 2 * k:2 * k + 3] += 1.0
        self.transform = transform

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        x = self.x[i]
        if self.transform is not None:
            x = self.transform(x)
        return x, self.y[i]


def augment(x):
    x = torch.roll(x, int(torch.randint(-1, 2, ())), dims=2)
    mask = (torch.rand(1, 8, 8) > 0.5).float()
    return x * mask + 0.3 * torch.randn_like(x)


train_set, val_set = random_split(Pictures(360), [280, 80])
train_set.dataset.transform = augment  # BUG dataset-shared
train_loader = DataLoader(train_set, batch_size=28, shuffle=True)
val_loader = DataLoader(val_set, batch_size=80)
model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(6):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = [(model(x).argmax(1) == y).float().mean().item() for x, y in val_loader]
    print(epoch, loss.item(), acc)
