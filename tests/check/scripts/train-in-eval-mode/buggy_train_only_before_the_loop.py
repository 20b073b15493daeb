"""evaluate() switches to eval mode; train() is called once, before the loop over epochs."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def evaluate(model, loader):
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
    return right


torch.manual_seed(0)
x = torch.randn(48, 6)
y = (x[:, 0] > 0).long()
train_loader = DataLoader(TensorDataset(x[:32], y[:32]), batch_size=8, shuffle=True)
val_loader = DataLoader(TensorDataset(x[32:], y[32:]), batch_size=8)
model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model.train()  # <- finding
for epoch in range(3):
    for features, labels in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(features), labels)
        loss.backward()
        optimizer.step()
    print(epoch, evaluate(model, val_loader) / 16)
