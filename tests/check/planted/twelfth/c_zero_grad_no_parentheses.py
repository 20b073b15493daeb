"""Wine quality from eleven measurements."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=32)
    return parser.parse_args([])


def load_wine(n=256):
    g = torch.Generator().manual_seed(11)
    x = torch.randn(n, 11, generator=g)
    y = (x @ torch.linspace(-1, 1, 11) + 0.2 * torch.randn(n, generator=g)).unsqueeze(1)
    return x, y


def main():
    args = get_args()
    torch.manual_seed(0)
    x, y = load_wine()
    model = nn.Sequential(nn.Linear(11, 24), nn.ReLU(), nn.Linear(24, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        for i in range(0, len(x), args.batch_size):
            xb, yb = x[i : i + args.batch_size], y[i : i + args.batch_size]
            optimizer.zero_grad  # BUG missing-zero-grad
            loss = F.mse_loss(model(xb), yb)
            loss.backward()  # BUG missing-zero-grad
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
