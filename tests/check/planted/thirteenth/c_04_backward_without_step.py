import argparse

import torch
import torch.nn as nn
import torch.optim as optim


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=15)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--batch-size", type=int, default=40)
    p.add_argument("--seed", type=int, default=3)
    return p.parse_args()


def spirals(n_per_class, classes=3):
    xs, ys = [], []
    for c in range(classes):
        r = torch.linspace(0.1, 1.0, n_per_class)
        t = torch.linspace(c * 2.1, c * 2.1 + 2.0, n_per_class) + torch.randn(n_per_class) * 0.1
        xs.append(torch.stack([r * torch.sin(t), r * torch.cos(t)], dim=1))
        ys.append(torch.full((n_per_class,), c, dtype=torch.long))
    return torch.cat(xs), torch.cat(ys)


def main():
    args = parse()
    torch.manual_seed(args.seed)
    x, y = spirals(200)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    x_train, y_train, x_val, y_val = x[:480], y[:480], x[480:], y[480:]

    model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 3))
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(args.epochs):
        for idx in torch.randperm(len(x_train)).split(args.batch_size):
            optimizer.zero_grad()
            loss = criterion(model(x_train[idx]), y_train[idx])
            loss.backward()  # BUG backward-without-step
            optimizer.step  # BUG backward-without-step
        with torch.no_grad():
            acc = (model(x_val).argmax(dim=1) == y_val).float().mean().item()
        print(f"[{epoch + 1}/{args.epochs}] loss={loss.item():.4f} val_acc={acc:.3f}")


if __name__ == "__main__":
    main()
