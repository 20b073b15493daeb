from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


@dataclass
class Config:
    epochs: int = 6
    batch_size: int = 32
    lr: float = 3e-3
    dropout: float = 0.6
    seed: int = 11


class Net(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.fc1 = nn.Linear(20, 64)
        self.bn = nn.BatchNorm1d(64)
        self.drop = nn.Dropout(dropout)
        self.fc2 = nn.Linear(64, 4)

    def forward(self, x):
        return self.fc2(self.drop(F.relu(self.bn(self.fc1(x)))))


def train_epoch(model, loader, opt):
    model.train()
    for x, y in loader:
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()


def validate(model, loader):  # BUG eval-in-train-mode
    correct = total = 0
    with torch.no_grad():  # BUG eval-in-train-mode
        for x, y in loader:  # BUG eval-in-train-mode
            pred = model(x).argmax(dim=1)  # BUG eval-in-train-mode
            correct += (pred == y).sum().item()
            total += y.numel()
    return correct / total


def main(cfg=Config()):
    torch.manual_seed(cfg.seed)
    centers = torch.randn(4, 20) * 0.8
    labels = torch.randint(0, 4, (1200,))
    data = centers[labels] + torch.randn(1200, 20)
    train_set, val_set = random_split(TensorDataset(data, labels), [1000, 200])
    train_loader = DataLoader(train_set, batch_size=cfg.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=10)
    model = Net(cfg.dropout)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        train_epoch(model, train_loader, opt)
        print(f"epoch {epoch}: val acc {validate(model, val_loader):.4f}")


main()
