"""Forecast the next value of a noisy seasonal series; targets are standardised by a small scaler."""
import numpy as np
import torch
from torch import nn


class Scaler:
    def fit(self, a):
        self.mean = torch.from_numpy(a.mean(axis=0, keepdims=True)).float()
        self.std = torch.from_numpy(a.std(axis=0, keepdims=True)).float()
        return self

    def inverse(self, z):
        return z * self.std + self.mean


def windows(series, w):
    x = np.stack([series[i:i + w] for i in range(len(series) - w)])
    return x[:, :, 0], series[w:]


class Forecaster(nn.Module):
    def __init__(self, w, scaler):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(w, 32), nn.ReLU(), nn.Linear(32, 1))
        self.scaler = scaler

    def forward(self, x):
        return self.scaler.inverse(self.net((x - 50.0) / 10.0))


def main(w=12):
    torch.manual_seed(3)
    rng = np.random.default_rng(3)
    t = np.arange(700)
    series = (50 + 10 * np.sin(t / 5) + rng.normal(size=700))[:, None]
    cut = 550
    xtr, ytr = windows(series[:cut], w)
    xva, yva = windows(series[cut:], w)
    model = Forecaster(w, Scaler().fit(ytr))
    xtr, ytr, xva, yva = (torch.tensor(a, dtype=torch.float32) for a in (xtr, ytr, xva, yva))
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(12):
        for idx in torch.randperm(len(xtr)).split(32):
            loss = (model(xtr[idx]) - ytr[idx]).abs().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        print("val MAE", (model(xva) - yva).abs().mean().item())


main()
