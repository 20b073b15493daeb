"""In-place activations on what a layer of the branch has made leave the shortcut alone."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 4, 3), Block(4), Block(4), nn.Flatten(), nn.Linear(64, 2))
x, y = torch.randn(40, 1, 6, 6), torch.randint(0, 2, (40,))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(8):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
