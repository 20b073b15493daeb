"""Shuffles the training rows with the standard library at the start of each epoch."""
import random

import torch
from torch import nn
from torch.nn import functional as F


def table(n):
    x = torch.randn(n, 5)
    y = torch.tanh(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.1 * torch.randn(n)
    return torch.cat([x, y.unsqueeze(1)], 1)


def batches(rows, size):
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        yield part[:, :-1], part[:, -1]


def main():
    torch.manual_seed(43)
    random.seed(43)
    rows = table(300)
    valid = table(100)
    model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        random.shuffle(rows)  # <- finding
        total = 0.0
        for x, y in batches(rows, 30):
            loss = F.mse_loss(model(x).squeeze(1), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        with torch.no_grad():
            error = F.mse_loss(model(valid[:, :-1]).squeeze(1), valid[:, -1]).item()
        print(f"epoch {epoch} train {total / len(rows):.3f} valid {error:.3f}")


main()
