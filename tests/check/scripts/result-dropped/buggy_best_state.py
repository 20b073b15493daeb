"""Keeps the best weights of a run and reports on the test set."""
import copy

import torch
from torch import nn
from torch.nn import functional as F


def make(n):
    x = torch.randn(n, 20)
    y = (x[:, 0] + 0.5 * x[:, 1] + torch.randn(n) > 0).long()
    return x, y


def score(model, data):
    model.eval()
    with torch.no_grad():
        return F.cross_entropy(model(data[0]), data[1]).item()


def fit(model, train, valid, epochs=15, patience=4):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    best, best_state, bad = float("inf"), None, 0
    for epoch in range(epochs):
        model.train()
        for rows in torch.randperm(len(train[0])).split(20):
            loss = F.cross_entropy(model(train[0][rows]), train[1][rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        value = score(model, valid)
        if value < best:
            best, bad = value, 0
            best_state = copy.deepcopy(model.state_dict())  # <- finding
        else:
            bad += 1
            if bad == patience:
                break
    print(f"best validation {best:.3f} after {epoch + 1} epochs")
    return model


def main():
    torch.manual_seed(58)
    train, valid, test = make(120), make(100), make(200)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
    model = fit(model, train, valid)
    print(f"test {score(model, test):.3f}")


main()
