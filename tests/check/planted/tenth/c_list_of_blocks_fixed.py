"""A residual network whose depth is an argument."""

import torch
from torch import nn


class ResBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        return x + self.b(torch.relu(self.a(x)))


class Net(nn.Module):
    def __init__(self, width=16, depth=3):
        super().__init__()
        self.inp = nn.Linear(5, width)
        self.blocks = nn.ModuleList([ResBlock(width) for _ in range(depth)])
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


torch.manual_seed(0)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
x = torch.randn(128, 5)
y = (x[:, 0] * x[:, 1] > 0).long()
first = net.blocks[0].a.weight.detach().clone()
for epoch in range(6):
    perm = torch.randperm(128)
    for idx in perm.split(32):
        loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", round(loss.item(), 3), "block moved", bool((net.blocks[0].a.weight != first).any()))
