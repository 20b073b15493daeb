"""A layer that the first forward makes comes too late for the optimizer; the model is evaluated in between."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 32), nn.ReLU())
        self.head = None

    def forward(self, x):
        h = self.body(x)
        if self.head is None:
            self.head = nn.Linear(h.shape[1], 1)  # <- finding
        return self.head(h)


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), 1e-3)
for _ in range(30):
    net.train()
    x = torch.randn(32, 5)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        net(x)
