"""A data set gives -1 and 1, and binary cross entropy wants 0 and 1."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __init__(self, x):
        self.x = x

    def __len__(self):
        return len(self.x)

    def __getitem__(self, k):
        sign = 1.0 if self.x[k, 0] > 0 else -1.0  # <- finding
        return self.x[k], sign


torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for rows, signs in DataLoader(Points(torch.randn(64, 4)), batch_size=16):
    loss = nn.functional.binary_cross_entropy_with_logits(model(rows)[:, 0], signs.float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
