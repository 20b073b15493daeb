import torch
import torch.nn as nn
import torch.nn.functional as F


class Meter:
    """Keeps values of the current epoch."""

    name = "meter"

    def __init__(self):
        self.values = []

    def add(self, v, n):
        self.values.append((v, n))

    def result(self):
        total = sum(n for _, n in self.values)
        return sum(v * n for v, n in self.values) / total

    def clear(self):
        self.values.clear()


class TrainLoss(Meter):
    name = "train_loss"


class ValLoss(Meter):
    name = "val_loss"


def cubic(n, seed, noise):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 1, generator=g) * 2 - 1
    return x, x ** 3 - 0.5 * x + noise * torch.randn(n, 1, generator=g)


def iterate(x, y, bs, shuffle):
    order = torch.randperm(len(x)) if shuffle else torch.arange(len(x))
    for idx in order.split(bs):
        yield x[idx], y[idx]


def main(epochs=60):
    torch.manual_seed(0)
    train, val = cubic(24, 1, 0.3), cubic(200, 2, 0.3)
    net = nn.Sequential(nn.Linear(1, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    tl, vl = TrainLoss(), ValLoss()
    for epoch in range(epochs):
        net.train()
        for xb, yb in iterate(*train, 8, True):
            loss = F.mse_loss(net(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tl.add(loss.item(), len(xb))
        net.eval()
        with torch.no_grad():
            for xb, yb in iterate(*val, 10, False):
                vl.add(F.mse_loss(net(xb), yb).item(), len(xb))
        report = {m.name: round(m.result(), 4) for m in (tl, vl)}
        if epoch % 15 == 0:
            print(epoch, report)
        for m in (tl, vl):
            m.clear()
    with torch.no_grad():
        print("final", report, "true train loss", round(F.mse_loss(net(train[0]), train[1]).item(), 4))


main()
