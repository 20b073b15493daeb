"""Validation accuracy that compares logits with 0.5."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    right = 0
    for x, y in loader:
        out = model(x).squeeze(1)
        predicted = (out > 0.5).long()  # <- finding
        right += (predicted == y.long()).sum().item()
    model.train()
    return right / len(loader.dataset)


torch.manual_seed(0)
x = torch.randn(40, 5)
y = (x.mean(dim=1) > 0).float()
train_loader = DataLoader(TensorDataset(x[:30], y[:30]), batch_size=10, shuffle=True)
val_loader = DataLoader(TensorDataset(x[30:], y[30:]), batch_size=10)
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for features, labels in train_loader:
        optimizer.zero_grad()
        criterion(model(features).squeeze(1), labels).backward()
        optimizer.step()
    print(epoch, evaluate(model, val_loader))
