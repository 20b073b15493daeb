"""The model is made once, in a function, and goes on through all folds."""

import torch
from torch import nn

torch.manual_seed(0)


def build():
    return nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 2))


def fit(model, x, y):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for rows in torch.randperm(len(x)).split(16):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()


def main():
    x = torch.randn(120, 12)
    y = (x[:, 0] > 0).long()
    folds = torch.randperm(120).chunk(4)
    model = build()  # <- finding
    for k in range(4):
        held_out = folds[k]
        train = torch.cat([fold for j, fold in enumerate(folds) if j != k])
        fit(model, x[train], y[train])
        with torch.no_grad():
            print("fold", k, (model(x[held_out]).argmax(1) == y[held_out]).float().mean().item())


main()
