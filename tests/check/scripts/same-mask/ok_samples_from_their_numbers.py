"""A synthetic data set whose samples are made from their own numbers, and one mask for all time steps of a sequence."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Synthetic(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, i):
        generator = torch.Generator().manual_seed(i)
        x = torch.randn(6, 8, generator=generator)
        return x, x.sum() * 0.1


torch.manual_seed(0)
cell, head = nn.GRUCell(8, 16), nn.Linear(16, 1)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
for epoch in range(4):
    for x, y in DataLoader(Synthetic(), batch_size=16):
        h = torch.zeros(len(x), 16)
        mask = torch.bernoulli(torch.full((len(x), 16), 0.8)) / 0.8
        for t in range(x.shape[1]):
            h = cell(x[:, t], h * mask)
        loss = nn.functional.mse_loss(head(h).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
