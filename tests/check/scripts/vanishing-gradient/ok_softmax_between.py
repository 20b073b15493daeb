"""A multilayer perceptron made from a list of widths."""
import torch
from torch import nn
from torch.nn import functional as F


def mlp(sizes):
    layers = []
    for n_in, n_out in zip(sizes[:-2], sizes[1:-1]):
        layers.append(nn.Linear(n_in, n_out))
        layers.append(nn.ReLU())
    layers.append(nn.Linear(sizes[-2], sizes[-1]))
    return nn.Sequential(*layers)


def make_moons(n):
    angle = torch.rand(n) * 3.1416
    label = torch.arange(n) % 2
    x = torch.stack([angle.cos(), angle.sin()], 1)
    x[label == 1] = torch.tensor([1.0, 0.5]) - x[label == 1]
    return x + 0.1 * torch.randn(n, 2), label


def main():
    torch.manual_seed(9)
    x, y = make_moons(300)
    model = mlp([2, 32, 32, 32, 32, 2])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(10):
        order = torch.randperm(len(x))
        for rows in order.split(30):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        accuracy = (model(x).argmax(1) == y).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.3f} accuracy {accuracy:.3f}")


main()
