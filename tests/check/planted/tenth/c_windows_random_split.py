"""Forecast of a series; windows are split at random."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset, random_split


def windows(series, length):
    x = np.stack([series[i : i + length] for i in range(len(series) - length)])
    return torch.from_numpy(x[:, :-1]).float(), torch.from_numpy(x[:, -1:]).float()


rng = np.random.default_rng(0)
series = np.cumsum(rng.normal(size=240))
x, y = windows(series, 13)
data = TensorDataset(x, y)
torch.manual_seed(0)
train, val = random_split(data, [180, len(data) - 180])  # BUG data-leak
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    model.train()
    for xb, yb in DataLoader(train, batch_size=30, shuffle=True):
        loss = nn.functional.mse_loss(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    total = count = 0
    with torch.no_grad():
        for xb, yb in DataLoader(val, batch_size=30):
            total += nn.functional.mse_loss(model(xb), yb, reduction="sum").item()
            count += len(yb)
print("val", round(total / count, 3))
