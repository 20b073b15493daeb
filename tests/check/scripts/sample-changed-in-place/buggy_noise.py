"""The transform adds its noise to the stored sample."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


def jitter(x):
    x += 0.1 * torch.randn(x.shape)  # <- finding
    return x


class Rows(Dataset):
    def __init__(self, x, transform):
        self.x, self.transform = x, transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = self.x[i]
        return self.transform(x), x.sum() > 0


loader = DataLoader(Rows(torch.randn(40, 5), jitter), batch_size=10, shuffle=True)
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    for rows, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(
            model(rows).squeeze(1), labels.float()
        )
        loss.backward()
        optimizer.step()
print(loss.item())
