"""Digits-like classification with a configurable MLP factory."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "tanh": nn.Tanh}


def build_mlp(sizes, activation="relu", output="softmax"):
    layers = []
    for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers.append(ACTIVATIONS[activation]())
    if output == "softmax":
        layers.append(nn.Softmax(dim=-1))  # BUG softmax-before-ce
    return nn.Sequential(*layers)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--hidden", type=int, nargs="*", default=[64, 32])
    p.add_argument("--activation", default="gelu")
    p.add_argument("--epochs", type=int, default=4)
    return p.parse_args()


def main():
    args = parse()
    torch.manual_seed(1)
    centers = torch.randn(10, 20) * 1.5
    y = torch.randint(0, 10, (1200,))
    x = centers[y] + torch.randn(1200, 20)
    loader = DataLoader(TensorDataset(x[:1000], y[:1000]), batch_size=50, shuffle=True)
    model = build_mlp([20, *args.hidden, 10], args.activation)  # BUG softmax-before-ce
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(args.epochs):
        total, n = 0.0, 0
        for xb, yb in loader:
            opt.zero_grad()
            loss = criterion(model(xb), yb)  # BUG softmax-before-ce
            loss.backward()
            opt.step()
            total += loss.item() * len(yb)
            n += len(yb)
        print(epoch, total / n)
    model.eval()
    with torch.no_grad():
        print("val acc", (model(x[1000:]).argmax(-1) == y[1000:]).float().mean().item())


main()
