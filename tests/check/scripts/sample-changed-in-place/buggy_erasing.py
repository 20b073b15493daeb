"""A random part of each stored image is erased, one more in each epoch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Images(Dataset):
    def __init__(self):
        self.items = [(torch.rand(1, 8, 8), k % 2) for k in range(30)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        image, label = self.items[i]
        top = int(torch.randint(0, 6, ()))
        image[:, top : top + 3] = 0  # <- finding
        return image, label


loader = DataLoader(Images(), batch_size=10, shuffle=True)
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    for rows, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(rows), labels)
        loss.backward()
        optimizer.step()
print(loss.item())
