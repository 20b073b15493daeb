"""Images of several sizes go through the network one by one."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(torch.relu(self.bn(self.conv(x))).mean((2, 3)))


def batch(n):
    images, labels = [], []
    for _ in range(n):
        k = int(torch.randint(0, 3, ()))
        size = 6 + 2 * int(torch.randint(0, 3, ()))
        images.append(torch.randn(1, size, size) * 0.3 + 1.0 * k)
        labels.append(k)
    return images, torch.tensor(labels)


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(15):
    images, labels = batch(8)
    logits = torch.cat([net(image[None]) for image in images])  # BUG batchnorm-batch-of-one
    loss = nn.functional.cross_entropy(logits, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 3))
