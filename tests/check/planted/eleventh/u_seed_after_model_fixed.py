"""Command line with a seed."""

import argparse

import torch
from torch import nn


def parse(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--epochs", type=int, default=4)
    return parser.parse_args(argv)


def train(model, x, y, epochs):
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(epochs):
        for part in torch.randperm(len(x)).split(20):
            loss = nn.functional.mse_loss(model(x[part]), y[part])
            opt.zero_grad()
            loss.backward()
            opt.step()
    return loss.item()


def main():
    args = parse([])
    torch.manual_seed(args.seed)
    model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
    x = torch.randn(80, 3)
    print("loss", train(model, x, x.prod(1, keepdim=True), args.epochs))


main()
