"""Forecasting: windows of a series are drawn for training and for testing."""

import torch
from torch import nn

torch.manual_seed(62)
series = torch.cumsum(torch.randn(400), 0) / 10
windows = series.unfold(0, 13, 1)
x, y = windows[:, :12], windows[:, 12:]

train_idx = torch.arange(0, 300)
test_idx = torch.arange(313, len(x))
model = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(20):
    model.train()
    for chunk in train_idx[torch.randperm(len(train_idx))].split(50):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x[chunk]), y[chunk])
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        test = nn.functional.mse_loss(model(x[test_idx]), y[test_idx])
print("test", test.item())
