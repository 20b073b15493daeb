"""Means of means over batches of one size: the rest is dropped, or there is none."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def evaluate(model, loader):
    losses = []
    with torch.no_grad():
        for x, y in loader:
            losses.append(nn.functional.mse_loss(model(x), y).item())
    return sum(losses) / len(losses)


torch.manual_seed(0)
x, y = torch.randn(52, 4), torch.randn(52, 1)
train_loader = DataLoader(TensorDataset(x[:32], y[:32]), batch_size=8)
dropped = DataLoader(TensorDataset(x[32:], y[32:]), batch_size=8, drop_last=True)
even = DataLoader(TensorDataset(x[32:], y[32:]), batch_size=10)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for a, b in train_loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(a), b).backward()
    optimizer.step()
print(evaluate(model, dropped), evaluate(model, even))
