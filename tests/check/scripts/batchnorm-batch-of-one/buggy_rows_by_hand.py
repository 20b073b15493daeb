"""A loop over single samples, each made a batch of one: PyTorch refuses."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data, targets = torch.randn(20, 4), torch.randn(20, 1)
for row, target in zip(data, targets):
    optimizer.zero_grad()
    prediction = model(row.unsqueeze(0))  # <- finding
    loss = nn.functional.mse_loss(prediction, target.unsqueeze(0))
    loss.backward()
    optimizer.step()
