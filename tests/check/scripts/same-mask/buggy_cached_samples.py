"""The data set keeps samples after they were changed at random."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Rows(Dataset):
    def __init__(self):
        self.x, self.cache = torch.randn(24, 4), {}

    def __len__(self):
        return len(self.x)

    def jittered(self, i):
        if i not in self.cache:
            x = self.x[i] / self.x[i].norm()
            self.cache[i] = x + 0.1 * torch.randn(4)  # <- finding
        return self.cache[i]

    def __getitem__(self, i):
        return self.jittered(i), self.x[i].sum()


loader = DataLoader(Rows(), batch_size=6, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    for rows, target in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(rows).squeeze(1), target)
        loss.backward()
        optimizer.step()
print(loss.item())
