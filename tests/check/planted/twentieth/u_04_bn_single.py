"""Online learning: samples arrive one after the other from a stream."""
import argparse

import torch
from torch import nn, optim


def stream(n):
    for _ in range(n):
        label = torch.randint(0, 3, (1,))
        image = 0.2 * torch.randn(1, 3, 8, 8)
        image[:, label.item()] += 1
        yield image, label


class StreamNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=2)
        self.bn2 = nn.BatchNorm2d(width)
        self.fc = nn.Linear(width, 3)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=128)
    parser.add_argument("--accumulate", type=int, default=16)
    parser.add_argument("--width", type=int, default=8)
    args = parser.parse_args([])
    torch.manual_seed(0)
    model = StreamNet(args.width)
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    criterion = nn.CrossEntropyLoss()
    model.train()
    seen = []
    optimizer.zero_grad()
    for i, (image, label) in enumerate(stream(args.samples)):
        seen.append((image, label))
        loss = criterion(model(image), label) / args.accumulate  # BUG batchnorm-batch-of-one
        loss.backward()
        if len(seen) == args.accumulate:
            optimizer.step()
            optimizer.zero_grad()
            seen.clear()
            print(i + 1, loss.item())


main()
