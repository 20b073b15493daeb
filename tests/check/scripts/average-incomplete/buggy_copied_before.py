"""Resumes a run with a weight average from a checkpoint of the model."""
import copy
import io

import torch
from torch import nn
from torch.nn import functional as F


def data(n):
    x = torch.randn(n, 8)
    return x, ((x[:, 0] + x[:, 1] ** 2 - x[:, 2]) > 0.5).long()


def build():
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))


def train(model, average, x, y, epochs, decay=0.98):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        for rows in torch.randperm(len(x)).split(40):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for a, p in zip(average.parameters(), model.parameters()):
                    a.mul_(decay).add_(p, alpha=1 - decay)
        with torch.no_grad():
            print(epoch, loss.item(), F.cross_entropy(average(x), y).item())


def main():
    torch.manual_seed(47)
    x, y = data(320)
    first = build()
    train(first, copy.deepcopy(first), x, y, 3)
    stored = io.BytesIO()
    torch.save({"model": first.state_dict()}, stored)
    stored.seek(0)

    model = build()
    average = copy.deepcopy(model)
    model.load_state_dict(torch.load(stored)["model"])  # <- finding
    average.requires_grad_(False)
    train(model, average, x, y, 3)


main()
