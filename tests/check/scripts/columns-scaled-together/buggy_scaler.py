"""A scaler of its own."""

import torch
from torch import nn


class Standardizer:
    def __init__(self, eps=1e-6):
        self.eps = eps

    def fit(self, x):
        self.mean = x.mean()  # <- finding
        self.std = x.std()
        return self

    def transform(self, x):
        return (x - self.mean) / (self.std + self.eps)


def make(n):
    income = 40_000 + 12_000 * torch.randn(n)
    age = 45 + 12 * torch.randn(n)
    rate = 0.05 + 0.01 * torch.randn(n)
    x = torch.stack([income, age, rate], 1)
    y = ((income - 40_000) / 12_000 - (age - 45) / 12 + (rate - 0.05) / 0.01 > 0).float()
    return x, y


def main():
    torch.manual_seed(13)
    (x_train, y_train), (x_test, y_test) = make(800), make(200)
    scaler = Standardizer().fit(x_train)
    x_train, x_test = scaler.transform(x_train), scaler.transform(x_test)
    model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(2):
        model.train()
        for idx in torch.randperm(len(x_train)).split(50):
            optimizer.zero_grad()
            loss = criterion(model(x_train[idx]).squeeze(1), y_train[idx])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            acc = ((model(x_test).squeeze(1) > 0).float() == y_test).float().mean()
        print(f"{epoch} loss {loss.item():.3f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
