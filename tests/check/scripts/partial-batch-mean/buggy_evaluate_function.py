"""The validation loss is averaged over batches, but the last batch is smaller."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@torch.no_grad()
def evaluate(model, loader, criterion):
    model.eval()
    total = 0.0
    for inputs, targets in loader:
        loss = criterion(model(inputs), targets)
        total += loss.item()
    return total / len(loader)  # <- finding


torch.manual_seed(0)
x, y = torch.randn(50, 4), torch.randn(50, 1)
train_loader = DataLoader(TensorDataset(x[:32], y[:32]), batch_size=8, shuffle=True)
val_loader = DataLoader(TensorDataset(x[32:], y[32:]), batch_size=8)
model, criterion = nn.Linear(4, 1), nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    model.train()
    for inputs, targets in train_loader:
        optimizer.zero_grad()
        criterion(model(inputs), targets).backward()
        optimizer.step()
    print(epoch, evaluate(model, val_loader, criterion))
