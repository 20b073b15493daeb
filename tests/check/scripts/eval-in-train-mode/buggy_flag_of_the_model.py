"""The flag of the model alone is set, and its layers keep theirs."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 1))

    def forward(self, x):
        return self.body(x)


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), 1e-3)
for e in range(4):
    net.train()
    for _ in range(10):
        x = torch.randn(32, 5)
        loss = (net(x) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.training = False  # <- finding
    with torch.no_grad():
        x = torch.randn(32, 5)
        print((net(x) - x[:, :1]).pow(2).mean().item())
