"""Validation loss over a loader whose last batch is small."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(25)


def make(n):
    x = torch.randn(n, 6)
    return TensorDataset(x, x.abs().sum(1, keepdim=True))


train_dl = DataLoader(make(256), batch_size=32, shuffle=True)
valid_dl = DataLoader(make(100), batch_size=48)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
loss_func = nn.MSELoss()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(4):
    model.train()
    for xb, yb in train_dl:
        loss = loss_func(model(xb), yb)
        loss.backward()
        opt.step()
        opt.zero_grad()

    model.eval()
    with torch.no_grad():
        valid_loss = sum(loss_func(model(xb), yb) * len(xb) for xb, yb in valid_dl)
    print(epoch, float(valid_loss / len(valid_dl.dataset)))
