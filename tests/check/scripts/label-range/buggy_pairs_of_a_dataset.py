"""A data set gives 0 for unlike pairs, and the loss wants -1."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self):
        self.first, self.second = torch.randn(64, 5), torch.randn(64, 5)

    def __len__(self):
        return 64

    def __getitem__(self, k):
        alike = self.first[k, 0] * self.second[k, 0] > 0
        return self.first[k], self.second[k], 1 if alike else 0  # <- finding


torch.manual_seed(0)
encode = nn.Linear(5, 3)
optimizer = torch.optim.Adam(encode.parameters(), lr=0.01)
loss_of = nn.CosineEmbeddingLoss()
for first, second, alike in DataLoader(Pairs(), batch_size=16):
    loss = loss_of(encode(first), encode(second), alike)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
