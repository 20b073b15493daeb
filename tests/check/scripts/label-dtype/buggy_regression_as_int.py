"""House prices in millions, cast to integers on their way into the data set."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
features = torch.randn(24, 4)
prices = 0.3 + torch.rand(24, 1) * 2
targets = prices.long()  # <- finding
loader = DataLoader(TensorDataset(features, targets), batch_size=8, shuffle=True)
model, criterion = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)), nn.L1Loss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(2):
    for x, y in loader:
        loss = criterion(model(x), y.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
