"""The weights are the frequencies themselves, not their inverse."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler

torch.manual_seed(0)


class Rows(Dataset):
    def __init__(self):
        self.labels = torch.multinomial(torch.tensor([0.7, 0.2, 0.1]), 150, replacement=True)
        self.x = torch.randn(150, 3) + self.labels[:, None]

    def __len__(self):
        return 150

    def __getitem__(self, i):
        return self.x[i], self.labels[i]


data = Rows()
share = torch.bincount(data.labels).float() / len(data)
row_weights = share[data.labels]  # <- finding
sampler = WeightedRandomSampler(row_weights, len(data))
loader = DataLoader(data, batch_size=25, sampler=sampler)
model = nn.Linear(3, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for rows, labels in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(rows), labels)
    loss.backward()
    optimizer.step()
print(loss.item())
