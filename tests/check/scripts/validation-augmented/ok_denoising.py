"""Noise is the task: a network that takes it away, trained and validated alike."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset

torch.manual_seed(0)


class Noisy(Dataset):
    def __init__(self, transform):
        self.clean, self.transform = torch.randn(60, 4), transform

    def __len__(self):
        return 60

    def __getitem__(self, i):
        return self.transform(self.clean[i]), self.clean[i]


data = Noisy(lambda x: x + 0.3 * torch.randn_like(x))
train = DataLoader(Subset(data, range(40)), batch_size=10, shuffle=True)
held = DataLoader(Subset(data, range(40, 60)), batch_size=10)
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model.train()
    for rows, clean in train:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(rows), clean).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(sum(nn.functional.mse_loss(model(rows), clean).item() for rows, clean in held))
