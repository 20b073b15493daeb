# Small convolutional network for digit-like patterns
import argparse
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--momentum", type=float, default=0.9)
parser.add_argument("--epochs", type=int, default=4)
args = parser.parse_args()

torch.manual_seed(13)
labels = torch.randint(0, 4, (256,))
patterns = torch.randn(4, 1, 8, 8)
images = patterns[labels] + 0.5 * torch.randn(256, 1, 8, 8)
model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
for epoch in range(args.epochs):
    for rows in torch.randperm(256).split(32):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[rows]), labels[rows])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
