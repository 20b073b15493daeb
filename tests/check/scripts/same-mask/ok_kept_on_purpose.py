"""What is decoded is kept, a projection is fixed, a generator is made once or with other seeds."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


def features(x, projection=torch.randn(4, 6)):
    return (x @ projection).cos()


class Rows(Dataset):
    def __init__(self):
        self.x, self.cache = torch.randn(24, 4), {}

    def __len__(self):
        return len(self.x)

    def decode(self, i):
        if i not in self.cache:
            self.cache[i] = self.x[i] / self.x[i].norm()
        return self.cache[i]

    def __getitem__(self, i):
        own = torch.Generator().manual_seed(i)
        noise = 0.1 * torch.randn(4) + 0.01 * torch.randn(4, generator=own)
        return self.decode(i) + noise, self.x[i].sum()


loader = DataLoader(Rows(), batch_size=6, shuffle=True)
model = nn.Linear(6, 1)
generator = torch.Generator().manual_seed(1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(4):
    for rows, target in loader:
        keep = torch.rand(6, 4, generator=generator) > 0.1
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(features(rows * keep)).squeeze(1), target)
        loss.backward()
        optimizer.step()
print(loss.item())
