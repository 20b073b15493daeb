"""Retrieval with two towers; embeddings of unit length."""
import torch
from torch import nn
from torch.nn import functional as F


class Tower(nn.Module):
    def __init__(self, features, width=32, out=16):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, out))

    def forward(self, x):
        z = self.layers(x)
        return z / z.norm()  # <- finding


class Retriever(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.document = Tower(12), Tower(20)
        self.log_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, q, d):
        return self.log_scale.exp() * self.query(q) @ self.document(d).t()


def pairs(n):
    topic = torch.randn(n, 6)
    return (
        topic @ torch.randn(6, 12) + 0.1 * torch.randn(n, 12),
        topic @ torch.randn(6, 20) + 0.1 * torch.randn(n, 20),
    )


def main():
    torch.manual_seed(29)
    q, d = pairs(320)
    model = Retriever()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(6):
        total = 0.0
        for rows in torch.randperm(len(q)).split(32):
            scores = model(q[rows], d[rows])
            loss = F.cross_entropy(scores, torch.arange(len(rows)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        print(f"epoch {epoch} loss {total / len(q):.4f}")


if __name__ == "__main__":
    main()
