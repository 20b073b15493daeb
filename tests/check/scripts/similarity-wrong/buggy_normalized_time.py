"""Matches the parts of two sequences by cosine similarity."""
import torch
from torch import nn
from torch.nn import functional as F


class Matcher(nn.Module):
    def __init__(self, features, width=24):
        super().__init__()
        self.left = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width))
        self.right = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, a, b):
        za = F.normalize(self.left(a))  # <- finding
        zb = F.normalize(self.right(b))  # <- finding
        return za @ zb.transpose(1, 2)


def pairs(n, length=6, features=10):
    a = torch.randn(n, length, features)
    order = torch.stack([torch.randperm(length) for _ in range(n)])
    b = torch.gather(a, 1, order.unsqueeze(-1).expand(-1, -1, features)) + 0.1 * torch.randn(n, length, features)
    return a, b, order.argsort(1)


def main():
    torch.manual_seed(28)
    a, b, where = pairs(160)
    model = Matcher(10)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(6):
        total = 0.0
        for rows in torch.randperm(len(a)).split(32):
            scores = model(a[rows], b[rows]) / 0.1
            loss = F.cross_entropy(scores.flatten(0, 1), where[rows].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        print(f"epoch {epoch} loss {total / len(a):.3f}")


main()
