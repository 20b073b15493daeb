"""Five-fold cross-validation by hand."""

import torch
from torch import nn


def folds(n, k, generator):
    order = torch.randperm(n, generator=generator)
    size = n // k
    for f in range(k):
        held = order[f * size : (f + 1) * size]
        rest = torch.cat([order[: f * size], order[(f + 1) * size :]])
        yield rest, held


def fit(x, y, epochs=6):
    model = nn.Sequential(nn.Linear(x.shape[1], 64), nn.ReLU(), nn.Linear(64, 2))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(epochs):
        for part in torch.randperm(len(x)).split(16):
            loss = nn.functional.cross_entropy(model(x[part]), y[part])
            opt.zero_grad()
            loss.backward()
            opt.step()
    return model


torch.manual_seed(0)
x = torch.randn(100, 20)
y = torch.randint(0, 2, (100,))
scores = []
for train_idx, val_idx in folds(100, 5, torch.Generator().manual_seed(1)):
    model = fit(x[train_idx], y[train_idx])
    model.eval()
    with torch.no_grad():
        scores.append((model(x[val_idx]).argmax(1) == y[val_idx]).float().mean().item())
print("accuracy", round(sum(scores) / len(scores), 3))
