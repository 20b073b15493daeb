"""Accuracy on held-out rows after every epoch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def accuracy(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for x, y in loader:
            pred = model(x).argmax(1)
            right += (pred == y).sum().item()
            total += len(y)
    model.train()
    return right / total


def make(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 8, generator=g)
    return TensorDataset(x, (x[:, 0] + x[:, 1] > 0).long())


torch.manual_seed(0)
train, held = DataLoader(make(120, 1), 30, shuffle=True), DataLoader(make(60, 2), 30)
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Dropout(0.6), nn.Linear(64, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    for x, y in train:
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    score = accuracy(model, held)
print("accuracy", round(score, 3), "again", round(accuracy(model, held), 3))
