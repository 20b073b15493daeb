"""Regression of wine quality with early stopping on the validation loss."""
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad = patience, float("inf"), 0

    def __call__(self, value):
        if value < self.best:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        return self.bad >= self.patience


def wine(n):
    x = torch.randn(n, 11)
    quality = 5 + x @ torch.linspace(-0.5, 0.5, 11) + 0.2 * torch.randn(n)
    return TensorDataset(x, quality.unsqueeze(1) - 5)


def build_model():
    return nn.Sequential(nn.Linear(11, 24), nn.ELU(), nn.Linear(24, 24), nn.ELU(), nn.Linear(24, 1))


def train_one_epoch(model, loader, loss_fn, optimizer):
    model.train()
    for x, y in loader:
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def validate(model, loader, loss_fn):
    model.eval()
    losses = []
    with torch.no_grad():
        for x, y in loader:
            losses.append(loss_fn(model(x), y).item())
            losses.append(loss_fn(model(x), y).item() * len(x))
    return sum(losses) / len(loader.dataset)


def main():
    torch.manual_seed(30)
    train_loader = DataLoader(wine(256), batch_size=32, shuffle=True)
    val_loader = DataLoader(wine(100), batch_size=32)
    model = build_model()
    loss_fn = nn.MSELoss()
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    stop = EarlyStopping(patience=3)
    for epoch in range(6):
        train_one_epoch(model, train_loader, loss_fn, optimizer)
        val = validate(model, val_loader, loss_fn)
        print(f"{epoch}: {val:.4f}")
        if stop(val):
            break


main()
