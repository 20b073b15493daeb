import argparse
import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride=2, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class ResNetish(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.stem = conv(3, 8)
        self.stage = conv(8, 16)
        self.fc = nn.Linear(16, num_classes)

    def forward(self, x):
        return self.fc(self.stage(self.stem(x)).mean((2, 3)))


def main(argv=None):
    ap = argparse.ArgumentParser()
    ap.add_argument("--lr", type=float, default=0.02)
    ap.add_argument("--epochs", type=int, default=3)
    args = ap.parse_args(argv)
    torch.manual_seed(0)
    model = ResNetish()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)  # BUG param-replaced|param-not-in-optimizer
    scheduler = StepLR(optimizer, step_size=2, gamma=0.5)
    y = torch.randint(0, 3, (192,))
    x = torch.randn(192, 3, 16, 16)
    x[torch.arange(192), y] += 0.8
    model.fc = nn.Linear(16, 3)  # BUG param-replaced|param-not-in-optimizer
    for epoch in range(args.epochs):
        for b in torch.randperm(192).split(32):
            loss = nn.functional.cross_entropy(model(x[b]), y[b])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        print(epoch, loss.item(), scheduler.get_last_lr())


main()
