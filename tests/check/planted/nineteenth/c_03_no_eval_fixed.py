import argparse
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--hidden", type=int, default=48)
    p.add_argument("--dropout", type=float, default=0.3)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--lr", type=float, default=3e-3)
    return p.parse_args()


def build(args):
    return nn.Sequential(
        nn.Linear(10, args.hidden), nn.LayerNorm(args.hidden), nn.GELU(), nn.Dropout(args.dropout),
        nn.Linear(args.hidden, args.hidden), nn.GELU(), nn.Dropout(args.dropout),
        nn.Linear(args.hidden, 1),
    )


def train_epoch(model, loader, optimizer, criterion):
    model.train()
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(x).squeeze(-1), y)
        loss.backward()
        optimizer.step()


@torch.no_grad()
def evaluate(model, loader, criterion):
    model.eval()
    total, count = 0.0, 0
    for x, y in loader:
        pred = model(x).squeeze(-1)
        total += criterion(pred, y).item() * len(x)
        count += len(x)
    return math.sqrt(total / count)


def main():
    args = parse()
    torch.manual_seed(0)
    x = torch.randn(600, 10)
    y = x[:, 0] * x[:, 1] + x[:, 2].sin() + 0.1 * torch.randn(600)
    train, val = random_split(TensorDataset(x, y), [480, 120])
    train_loader = DataLoader(train, batch_size=48, shuffle=True)
    val_loader = DataLoader(val, batch_size=40)
    model, criterion = build(args), nn.MSELoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        train_epoch(model, train_loader, optimizer, criterion)
        print(epoch, "rmse", round(evaluate(model, val_loader, criterion), 4))


main()
