"""The steps to predict begin with the last one of the input."""

import torch
from torch import nn

torch.manual_seed(0)
length, horizon = 12, 3
series = torch.cumsum(torch.randn(300), 0)
starts = range(300 - length - horizon)
past = torch.stack([series[i : i + length] for i in starts])  # <- finding
future = torch.stack([series[i + length - 1 : i + length - 1 + horizon] for i in starts])
model = nn.Sequential(nn.Linear(length, 24), nn.ReLU(), nn.Linear(24, horizon))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(2):
    for rows in torch.randperm(len(past)).split(48):
        loss = ((model(past[rows]) - future[rows]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
