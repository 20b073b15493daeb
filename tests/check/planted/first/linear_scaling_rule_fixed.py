"""Image-like classification with SGD and the linear scaling rule."""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--base-lr", type=float, default=0.1)
    p.add_argument("--epochs", type=int, default=5)
    return p.parse_args()


class SmallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8 * 16, 5)

    def forward(self, x):
        x = F.relu(self.bn(self.conv(x)))
        return self.fc(F.max_pool2d(x, 2).flatten(1))


def data(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 5, (n,), generator=g)
    proto = torch.randn(5, 3, 8, 8, generator=torch.Generator().manual_seed(99))
    return proto[y] * 0.5 + torch.randn(n, 3, 8, 8, generator=g), y


def main():
    args = parse()
    torch.manual_seed(0)
    x, y = data(1280, 1)
    xv, yv = data(400, 2)
    net = SmallNet()
    lr = args.base_lr * args.batch_size / 256
    opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    for epoch in range(args.epochs):
        net.train()
        for idx in torch.randperm(len(x)).split(args.batch_size):
            loss = F.cross_entropy(net(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            acc = (net(xv).argmax(1) == yv).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.3f} val acc {acc:.3f}")


main()
