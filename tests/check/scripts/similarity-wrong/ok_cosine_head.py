"""A classifier with a cosine head."""
import torch
from torch import nn
from torch.nn import functional as F


class CosineHead(nn.Module):
    def __init__(self, width, classes, scale=16.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(classes, width))
        self.scale = scale

    def forward(self, z):
        return self.scale * F.linear(F.normalize(z, dim=1), F.normalize(self.weight, dim=1))


class Net(nn.Module):
    def __init__(self, features=12, width=32, classes=12):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width))
        self.head = CosineHead(width, classes)

    def forward(self, x):
        return self.head(self.trunk(x))


def clusters(n, classes=12):
    y = torch.randint(0, classes, (n,))
    centres = 2 * torch.randn(classes, 12)
    return centres[y] + 0.7 * torch.randn(n, 12), y


def main():
    torch.manual_seed(56)
    x, y = clusters(480)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(8):
        total = 0.0
        for rows in torch.randperm(len(x)).split(48):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        print(f"epoch {epoch} loss {total / len(x):.3f}")


main()
