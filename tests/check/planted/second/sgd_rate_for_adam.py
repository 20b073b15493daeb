"""Conv net for tiny images with a registry of optimizers."""
import argparse
import torch
import torch.nn as nn

OPTIMS = {
    "sgd": lambda ps, lr: torch.optim.SGD(ps, lr=lr, momentum=0.9),
    "adam": lambda ps, lr: torch.optim.Adam(ps, lr=lr),
}


def args():
    p = argparse.ArgumentParser()
    p.add_argument("--optim", choices=OPTIMS, default="adam")
    p.add_argument("--lr", type=float, default=1.0)  # BUG lr-absurd
    p.add_argument("--epochs", type=int, default=5)
    return p.parse_args()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(256, 3))

    def forward(self, x):
        return self.net(x)


def shapes(n):
    y = torch.randint(0, 3, (n,))
    x = 0.9 * torch.randn(n, 1, 8, 8)
    x[y == 0, :, 3:5] += 1
    x[y == 1, :, :, 3:5] += 1
    x[y == 2, :, 2:6, 2:6] += 1
    return x, y


a = args()
torch.manual_seed(0)
net = Net()
opt = OPTIMS[a.optim](net.parameters(), a.lr)
x, y = shapes(600)
for epoch in range(a.epochs):
    for idx in torch.randperm(600).split(40):
        loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
xv, yv = shapes(300)
with torch.no_grad():
    print("loss", loss.item(), "acc", (net(xv).argmax(1) == yv).float().mean().item())
