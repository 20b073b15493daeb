"""Load forecasting: hourly consumption from lags, an MLP regressor."""
import numpy as np
import torch
from torch import nn


def consumption(hours=600, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    daily = 10 * np.sin(2 * np.pi * t / 24)
    trend = 0.05 * t
    return (100 + daily + trend + rng.normal(0, 2, hours)).astype(np.float32)


def lags(series, k=24):
    x = np.stack([series[i:i + k] for i in range(len(series) - k)])
    y = series[k:]
    return x, y


def prepare(k=24, fraction=0.8):
    series = consumption()
    cut = int(len(series) * fraction)
    series = (series - series[:cut].mean()) / series[:cut].std()
    train, valid = series[:cut], series[cut:]
    return [torch.from_numpy(a) for pair in (lags(train, k), lags(valid, k)) for a in pair]


class MLP(nn.Module):
    def __init__(self, k, width=32):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(k, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.last = nn.Linear(width, 1)

    def forward(self, x):
        return self.last(self.layers(x))[:, 0]


def fit(model, x, y, x_val, y_val, epochs=4, batch=48):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.L1Loss()
    for epoch in range(epochs):
        model.train()
        for idx in torch.randperm(len(x)).split(batch):
            optimizer.zero_grad()
            loss = criterion(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val = criterion(model(x_val), y_val).item()
        print(f"epoch {epoch} val {val:.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    x, y, x_val, y_val = prepare()
    fit(MLP(24), x, y, x_val, y_val)
