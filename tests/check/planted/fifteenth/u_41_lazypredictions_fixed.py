"""Evaluation inside a context manager."""
from contextlib import contextmanager

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@contextmanager
def evaluating(model):
    was = model.training
    model.eval()
    try:
        yield model
    finally:
        model.train(was)


def predict(model, loader):
    with evaluating(model):
        return [(model(x).argmax(dim=1), y) for x, y in loader]


@torch.no_grad()
def accuracy(model, loader):
    hits = n = 0
    for pred, y in predict(model, loader):
        hits += (pred == y).sum().item()
        n += len(y)
    return hits / n


torch.manual_seed(0)
centers = torch.randn(5, 10)
y = torch.randint(0, 5, (900,))
x = centers[y] + 0.6 * torch.randn(900, 10)
train = DataLoader(TensorDataset(x[:700], y[:700]), batch_size=35, shuffle=True)
val = DataLoader(TensorDataset(x[700:], y[700:]), batch_size=50)
model = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 5))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
model.train()
for epoch in range(4):
    for xb, yb in train:
        opt.zero_grad()
        nn.functional.cross_entropy(model(xb), yb).backward()
        opt.step()
    print(epoch, accuracy(model, val))
