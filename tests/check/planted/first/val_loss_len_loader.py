"""Validation loss of a regression model."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def evaluate(model, loader, crit):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in loader:
            total += crit(model(x), y).item()  # BUG partial-batch-mean
    return total / len(loader)  # BUG partial-batch-mean


def train(model, loader, crit, epochs=6):
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(epochs):
        model.train()
        for x, y in loader:
            loss = crit(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()


torch.manual_seed(0)
x = torch.randn(1010, 5)
y = (x[:, :1] ** 2 + x[:, 1:2]) * (1 + (torch.arange(1010) >= 1000)[:, None] * 2)
train_dl = DataLoader(TensorDataset(x[:800], y[:800]), 50, shuffle=True)
val_dl = DataLoader(TensorDataset(x[800:], y[800:]), 50)
model = nn.Sequential(nn.Linear(5, 48), nn.ReLU(), nn.Linear(48, 1))
crit = nn.MSELoss()
train(model, train_dl, crit)
print("val mse", evaluate(model, val_dl, crit))
