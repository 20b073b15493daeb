"""MNIST-example style training on synthetic digits."""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3)
        self.fc1 = nn.Linear(8 * 9, 32)
        self.fc2 = nn.Linear(32, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.fc1(torch.flatten(x, 1)))
        return F.log_softmax(self.fc2(x), dim=1)


def digits(n, g):
    y = torch.randint(0, 4, (n,), generator=g)
    x = 0.5 * torch.randn(n, 1, 8, 8, generator=g)
    for k, (r, c) in enumerate([(0, 0), (0, 4), (4, 0), (4, 4)]):
        x[y == k, :, r:r + 4, c:c + 4] += 0.7
    return x, y


def train(model, opt, g, steps):
    model.train()
    for _ in range(steps):
        data, target = digits(64, g)
        opt.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        opt.step()
    print("train loss", loss.item())


def test(model, g):
    model.eval()
    with torch.no_grad():
        data, target = digits(400, g)
        print("accuracy", (model(data).argmax(1) == target).float().mean().item())


parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=3e-3)
args = parser.parse_args()
torch.manual_seed(1)
g = torch.Generator().manual_seed(1)
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=args.lr)
train(model, opt, g, 150)
test(model, g)
