"""A bias that was meant to make units sparse begins so low that most of them never fire."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(6, 32)
        self.out = nn.Linear(32, 2)
        nn.init.constant_(self.hidden.bias, -5.0)  # <- finding

    def forward(self, x):
        return self.out(F.relu(self.hidden(x)))


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
x = torch.randn(64, 6)
y = (x[:, 0] > 0).long()
for epoch in range(8):
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
