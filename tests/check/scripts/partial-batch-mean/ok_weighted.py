"""Means weighted by the rows of each batch, sums divided by the rows, and hits that are counted."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, y = torch.randn(50, 4), torch.randint(0, 2, (50,))
train_loader = DataLoader(TensorDataset(x[:32], y[:32]), batch_size=8, shuffle=True)
val_loader = DataLoader(TensorDataset(x[32:], y[32:]), batch_size=8)
model, criterion = nn.Linear(4, 2), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    for inputs, targets in train_loader:
        optimizer.zero_grad()
        criterion(model(inputs), targets).backward()
        optimizer.step()
    weighted = summed = right = rows = 0
    with torch.no_grad():
        for inputs, targets in val_loader:
            out = model(inputs)
            weighted += criterion(out, targets).item() * len(inputs)
            summed += nn.functional.cross_entropy(out, targets, reduction="sum").item()
            right += (out.argmax(dim=1) == targets).sum().item()
            rows += targets.size(0)
    print(epoch, weighted / rows, summed / len(val_loader.dataset), right / rows)
