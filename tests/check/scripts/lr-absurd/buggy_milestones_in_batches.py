"""Milestones count epochs, and the schedule is stepped once per batch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[6, 9])
for epoch in range(10):
    for rows, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(rows), targets)
        loss.backward()
        optimizer.step()
        schedule.step()  # <- finding
print(loss.item())
