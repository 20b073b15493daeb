"""Validation loss is a mean over batches."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@torch.no_grad()
def evaluate(model, loader, criterion):
    model.eval()
    losses = [criterion(model(x), y).item() * len(y) for x, y in loader]
    return sum(losses) / len(loader.dataset)


torch.manual_seed(0)
x = torch.randn(150, 4)
y = (x[:, :1] * 2).exp()
train = DataLoader(TensorDataset(x[:96], y[:96]), batch_size=32, shuffle=True)
val = DataLoader(TensorDataset(x[96:], y[96:]), batch_size=25)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.MSELoss()
for epoch in range(4):
    model.train()
    for xb, yb in train:
        loss = criterion(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    val_loss = evaluate(model, val, criterion)
print("val", round(val_loss, 3))
