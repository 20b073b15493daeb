"""Pre-activation residual network on small images."""
import torch
from torch import nn
import torch.nn.functional as F


class PreAct(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)
        self.act = nn.ReLU()

    def forward(self, x):
        h = self.conv1(self.act(x))
        h = self.conv2(F.relu(h))
        return x + h


class Net(nn.Module):
    def __init__(self, ch=8, classes=3):
        super().__init__()
        self.stem = nn.Conv2d(1, ch, 3, padding=1)
        self.body = nn.Sequential(PreAct(ch), PreAct(ch))
        self.fc = nn.Linear(ch, classes)

    def forward(self, x):
        return self.fc(self.body(self.stem(x)).mean(dim=(-2, -1)))


def stripes(n):
    y = torch.randint(0, 3, (n,))
    x = 0.4 * torch.randn(n, 1, 8, 8)
    x[y == 0, :, ::2, :] += 1
    x[y == 1, :, :, ::2] += 1
    x[y == 2, :, ::2, ::2] += 1
    return x, y


torch.manual_seed(0)
x, y = stripes(480)
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(4):
    for idx in torch.randperm(len(x)).split(32):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
