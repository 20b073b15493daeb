"""Classifier with dropout and batch norm, validated every epoch."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 3))


def make(n):
    x = torch.randn(n, 16)
    return TensorDataset(x, x[:, :3].argmax(1))


@torch.no_grad()
def validate(model, loader):  # BUG eval-in-train-mode
    hits = n = 0
    for x, y in loader:
        hits += (model(x).argmax(1) == y).sum().item()  # BUG eval-in-train-mode
        n += len(y)
    return hits / n


def main():
    torch.manual_seed(0)
    train = DataLoader(make(960), 64, shuffle=True)
    val = DataLoader(make(320), 64)
    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    best = 0.0
    for epoch in range(8):
        model.train()
        for x, y in train:
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        acc = validate(model, val)
        best = max(best, acc)
    print(f"last val acc {acc:.3f} best {best:.3f}")


main()
