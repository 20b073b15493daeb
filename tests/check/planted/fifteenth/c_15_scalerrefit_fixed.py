"""Tabular regression with standardised inputs."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Standardizer:
    def fit(self, x):
        self.mean = x.mean(dim=0)
        self.std = x.std(dim=0) + 1e-8
        return self

    def transform(self, x):
        return (x - self.mean) / self.std

    def fit_transform(self, x):
        return self.fit(x).transform(x)


def raw(n, shift, g):
    x = torch.randn(n, 5, generator=g) * torch.tensor([1.0, 10.0, 100.0, 1.0, 5.0]) + shift
    y = x[:, 0] + 0.1 * x[:, 1] + 0.01 * x[:, 2]
    return x, y


def load(g):
    scaler = Standardizer()
    x_train, y_train = raw(600, 3.0, g)
    x_val, y_val = raw(200, 4.0, g)
    train = TensorDataset(scaler.fit_transform(x_train), y_train)
    val = TensorDataset(scaler.transform(x_val), y_val)
    return train, val


def main():
    torch.manual_seed(0)
    train, val = load(torch.Generator().manual_seed(1))
    model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    loader = DataLoader(train, batch_size=50, shuffle=True)
    val_loader = DataLoader(val, batch_size=100)
    for epoch in range(6):
        model.train()
        for x, y in loader:
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            se = sum(nn.functional.mse_loss(model(x), y, reduction="sum").item() for x, y in val_loader)
        print(f"epoch {epoch}: val mse {se / len(val):.4f}")


main()
