"""Sensor windows: features are random crops of a recording; split and train."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def record(n, rng):
    kind = rng.integers(0, 3, n)
    t = np.arange(32)
    freq = np.array([0.2, 0.35, 0.5])[kind]
    x = np.sin(freq[:, None] * t + rng.uniform(0, 6.28, (n, 1))) + rng.normal(0, 0.4, (n, 32))
    return x.astype("float32"), kind


def oversample(x, y, rng):
    counts = np.bincount(y)
    take = [rng.choice(np.flatnonzero(y == c), counts.max(), replace=True) for c in range(len(counts))]
    take = np.concatenate(take)
    return x[take], y[take]


def split(n, rng, fraction=0.2):
    order = rng.permutation(n)
    cut = int(n * fraction)
    return order[cut:], order[:cut]


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    x, y = record(400, rng)
    keep = (y != 2) | (rng.random(len(y)) < 0.3)
    x, y = x[keep], y[keep]
    x, y = oversample(x, y, rng)  # BUG data-leak
    train_idx, val_idx = split(len(x), rng)  # BUG data-leak
    data = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    train_set, val_set = Subset(data, train_idx), Subset(data, val_idx)  # BUG data-leak
    train = DataLoader(train_set, batch_size=32, shuffle=True)
    valid = DataLoader(val_set, batch_size=64)
    model = nn.Sequential(nn.Linear(32, 48), nn.ReLU(), nn.Linear(48, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(5):
        model.train()
        for xb, yb in train:
            loss = nn.functional.cross_entropy(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        good = 0
        with torch.no_grad():
            for xb, yb in valid:
                good += (model(xb).argmax(1) == yb).sum().item()
        print(epoch, loss.item(), good / len(val_set))


main()
