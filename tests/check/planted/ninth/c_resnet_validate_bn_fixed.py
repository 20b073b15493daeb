# A tiny residual network on synthetic textures, with a validation pass after each epoch
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(x + self.bn2(self.conv2(y)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.block = Block(8)
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        x = self.block(self.stem(x))
        return self.fc(x.mean((2, 3)))


def run_epoch(net, x, y, optimizer=None):
    correct = 0
    for rows in torch.arange(len(x)).split(24):
        out = net(x[rows])
        loss = F.cross_entropy(out, y[rows])
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        correct += (out.argmax(1) == y[rows]).sum().item()
    return correct / len(x)


torch.manual_seed(6)
y = torch.randint(0, 3, (168,))
x = torch.randn(168, 1, 10, 10) * (1 + y.view(-1, 1, 1, 1).float())
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    net.train()
    train_acc = run_epoch(net, x[:120], y[:120], optimizer)
    with torch.no_grad():
        val_acc = run_epoch(net.eval(), x[120:], y[120:])
    print(epoch, train_acc, val_acc)
