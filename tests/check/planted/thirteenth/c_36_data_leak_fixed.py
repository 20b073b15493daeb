import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Subset

random.seed(0)
torch.manual_seed(0)


class Patients(Dataset):
    """Wide table with few informative columns."""

    def __init__(self, n=300, columns=60):
        self.x = torch.randn(n, columns)
        score = self.x[:, 0] + 0.8 * self.x[:, 1]
        self.y = (score + 1.5 * torch.randn(n) > 0).long()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


dataset = Patients()
indices = list(range(len(dataset)))
random.shuffle(indices)
n_train = int(0.8 * len(dataset))
n_val = int(0.2 * len(dataset))
train_set = Subset(dataset, indices[:n_train])
val_set = Subset(dataset, indices[n_train : n_train + n_val])

train_loader = DataLoader(train_set, batch_size=24, shuffle=True)
val_loader = DataLoader(val_set, batch_size=60)

model = nn.Sequential(nn.Linear(60, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def accuracy(loader):
    model.eval()
    right = count = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
            count += len(y)
    return right / count


for epoch in range(15):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} train {accuracy(train_loader):.3f} val {accuracy(val_loader):.3f}")
