"""Orientation of edges in small images, with random flips."""
import torch
from torch import nn
from torch.nn import functional as F


def edges(n):
    y = torch.randint(0, 4, (n,))
    x = 0.4 * torch.randn(n, 1, 10, 10)
    for k in range(n):
        at = int(torch.randint(1, 8, (1,)))
        if y[k] == 0:
            x[k, 0, at] += 1.5
        elif y[k] == 1:
            x[k, 0, :, at] += 1.5
        elif y[k] == 2:
            x[k, 0, at : at + 2, 3:7] += 1.5
        else:
            x[k, 0, 3:7, at : at + 2] += 1.5
    return x, y


def random_flip(x, p=0.5):
    if torch.rand(()) < p:
        x = torch.flip(x, dims=[0])  # <- finding
    return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 10, 3)
        self.fc = nn.Linear(10 * 16, 4)

    def forward(self, x):
        return self.fc(F.max_pool2d(F.relu(self.conv(x)), 2).flatten(1))


def main():
    torch.manual_seed(45)
    x, y = edges(320)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(5):
        total = 0.0
        for rows in torch.randperm(len(x)).split(32):
            loss = F.cross_entropy(net(random_flip(x[rows])), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        print(f"epoch {epoch} loss {total / len(x):.3f}")


main()
