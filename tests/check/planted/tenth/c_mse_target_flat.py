"""House prices with a dataset class."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Houses(Dataset):
    def __init__(self, n=120):
        g = torch.Generator().manual_seed(0)
        self.rows = torch.randn(n, 4, generator=g)
        self.price = self.rows @ torch.tensor([2.0, -1.0, 0.5, 3.0]) + 1.0

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i], self.price[i]


def train(loader, epochs=8, lr=2e-2):
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    criterion = nn.SmoothL1Loss()
    for epoch in range(epochs):
        for rows, price in loader:
            loss = criterion(model(rows), price)  # BUG loss-shape-mismatch
            opt.zero_grad()
            loss.backward()
            opt.step()
    return model


torch.manual_seed(0)
data = Houses()
import warnings

warnings.simplefilter("ignore")
model = train(DataLoader(data, batch_size=24, shuffle=True))
error = (model(data.rows)[:, 0] - data.price).pow(2).mean().item()
print("mse", round(error, 3))
