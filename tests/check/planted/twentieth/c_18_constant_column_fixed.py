"""Churn prediction: standardized columns into a logistic model with one hidden layer."""
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TrainConfig:
    hidden: int = 16
    lr: float = 1e-2
    epochs: int = 3
    batch: int = 32
    columns: list = field(default_factory=lambda: ["age", "visits", "country", "spend"])


def table(n=240):
    age = torch.randint(18, 80, (n,)).float()
    visits = torch.randint(0, 30, (n,)).float()
    country = torch.full((n,), 49.0)
    spend = torch.rand(n) * 200
    churn = ((visits < 8) | (spend < 30)).float()
    return torch.stack([age, visits, country, spend], dim=1), churn


class Standardizer:
    def fit(self, x):
        self.mean = x.mean(dim=0)
        self.std = x.std(dim=0)
        return self

    def __call__(self, x):
        return (x - self.mean) / self.std.clamp(min=1e-6)


class Churn(nn.Module):
    def __init__(self, n_in, hidden):
        super().__init__()
        self.hidden = nn.Linear(n_in, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x))).squeeze(-1)


def fit(config):
    x, y = table()
    x_train, y_train, x_val, y_val = x[:192], y[:192], x[192:], y[192:]
    scale = Standardizer().fit(x_train)
    loader = DataLoader(TensorDataset(scale(x_train), y_train), config.batch, shuffle=True)
    model = Churn(len(config.columns), config.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(config.epochs):
        for rows, label in loader:
            loss = criterion(model(rows), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            val = criterion(model(scale(x_val)), y_val)
        print(epoch, loss.item(), val.item())


torch.manual_seed(0)
fit(TrainConfig())
