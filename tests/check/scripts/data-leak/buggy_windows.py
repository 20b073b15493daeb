"""Windows of a series are split at random: nearly every window of the second part overlaps one of the first."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(0)
series = torch.randn(140).cumsum(0) * 0.1
windows = TensorDataset(series.unfold(0, 12, 1)[:-1], series[12:])
order = torch.randperm(len(windows)).tolist()
train = Subset(windows, order[:100])
later = Subset(windows, order[100:])  # <- finding
model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(4):
    for x, y in DataLoader(train, 25, shuffle=True):
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
with torch.no_grad():
    print(sum((model(x).squeeze(1) - y).pow(2).sum().item() for x, y in DataLoader(later, 28)) / len(later))
