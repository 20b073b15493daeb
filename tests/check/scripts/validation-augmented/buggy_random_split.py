"""`random_split` divides a data set, its transform goes with both parts."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split

torch.manual_seed(0)


class Rows(Dataset):
    def __init__(self, transform=None):
        generator = torch.Generator().manual_seed(1)
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


data = Rows(noise)
part, rest = random_split(data, [40, 20])  # <- finding
train = DataLoader(part, batch_size=10, shuffle=True)
held = DataLoader(rest, batch_size=10)
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
