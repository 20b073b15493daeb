"""Digits with a plain network and weight decay."""
import torch
from torch import nn
from torch.nn import functional as F

MOMENTUM = 0.9
DECAY = 1e-4


def digits(n):
    prototypes = (torch.rand(10, 36) > 0.5).float()
    y = torch.randint(0, 10, (n,))
    return prototypes[y] + 0.6 * torch.randn(n, 36), y


def build_optimizer(model, lr):
    return torch.optim.SGD(model.parameters(), lr, DECAY, MOMENTUM)  # <- finding


def main():
    torch.manual_seed(39)
    x, y = digits(600)
    model = nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = build_optimizer(model, 0.05)
    for epoch in range(6):
        total = 0.0
        for rows in torch.randperm(len(x)).split(50):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        print(f"epoch {epoch} loss {total / len(x):.4f}")
    with torch.no_grad():
        print("accuracy", (model(x).argmax(1) == y).float().mean().item())


main()
