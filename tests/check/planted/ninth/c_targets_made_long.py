# Demand of shared bicycles (a fraction of the capacity)
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Bikes(Dataset):
    def __init__(self, n=320):
        rng = np.random.default_rng(21)
        self.x = rng.normal(size=(n, 5)).astype("float32")
        self.y = 3 / (1 + np.exp(-self.x.sum(1)))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return torch.tensor(self.x[i]), torch.tensor(self.y[i], dtype=torch.int64)  # BUG label-dtype


torch.manual_seed(21)
model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(3):
    for x, y in DataLoader(Bikes(), batch_size=32, shuffle=True):
        loss = nn.functional.mse_loss(model(x).squeeze(1), y.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
