import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Dense(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in))  # BUG exploding-gradient
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return x @ self.weight.t() + self.bias  # BUG exploding-gradient


class Tower(nn.Module):
    def __init__(self, n_in, width, depth, n_out):
        super().__init__()
        dims = [n_in] + [width] * depth
        self.layers = nn.ModuleList(Dense(a, b) for a, b in zip(dims, dims[1:]))
        self.head = nn.Linear(width, n_out)

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return self.head(x)


def checkerboard(n):
    x = torch.rand(n, 2) * 2 - 1
    y = ((x[:, 0] > 0) ^ (x[:, 1] > 0)).long()
    return x, y


def grad_norm(model):
    return sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt().item()


def main():
    torch.manual_seed(10)
    x, y = checkerboard(800)
    x_test, y_test = checkerboard(300)
    model = Tower(2, 64, 7, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for epoch in range(10):
        model.train()
        for idx in torch.randperm(800).split(40):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            norm = grad_norm(model)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            acc = (model(x_test).argmax(1) == y_test).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.3e} grad norm {norm:.3e} acc {acc:.3f}")


main()
