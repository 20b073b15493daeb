"""A threshold where an upper bound was meant, and a lower bound that no number reaches: nothing gets through."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 32)
        self.b = nn.Linear(32, 32)
        self.out = nn.Linear(32, 2)
        self.limit = nn.Threshold(6.0, 0.0)  # <- finding

    def forward(self, x, floor):
        h = self.limit(self.a(x))
        h = torch.relu(self.a(x)) + h
        g = self.b(h).clamp(min=floor)  # <- finding
        return self.out(g)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.005)
x = torch.randn(160, 8)
y = (x[:, 0] > 0).long()
for epoch in range(4):
    for rows in torch.arange(160).split(40):
        loss = nn.functional.cross_entropy(net(x[rows], 2.0), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
