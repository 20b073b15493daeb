"""A residual network whose skip connection is added in place."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = nn.Linear(width, width)
        self.fc2 = nn.Linear(width, width)

    def forward(self, x):
        out = torch.sigmoid(self.fc1(x))
        skip = out
        out = out * torch.tanh(self.fc2(out))
        return x + out + skip


torch.manual_seed(21)
net = nn.Sequential(nn.Linear(8, 16), Block(16), Block(16), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters())
for step in range(10):
    x = torch.rand(20, 8)
    y = x.sum(1, keepdim=True)
    optimizer.zero_grad()
    loss = nn.MSELoss()(net(x), y)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
