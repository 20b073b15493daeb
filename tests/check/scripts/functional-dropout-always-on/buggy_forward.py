"""F.dropout without `training=`: eval() does not reach it."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 32)
        self.fc2 = nn.Linear(32, 2)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.dropout(x, p=0.5)  # <- finding
        return self.fc2(x)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x, y = torch.randn(32, 6), torch.randint(0, 2, (32,))
for epoch in range(3):
    net.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x[:24]), y[:24])
    loss.backward()
    optimizer.step()
    net.eval()
    with torch.no_grad():
        accuracy = (net(x[24:]).argmax(1) == y[24:]).float().mean()
    print(epoch, loss.item(), accuracy.item())
