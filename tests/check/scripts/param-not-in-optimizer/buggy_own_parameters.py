"""`parameters` was overridden for a run that trained the head alone, and is still there."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.Tanh())
        self.head = nn.Linear(16, 1)

    def parameters(self, recurse=True):
        return self.head.parameters(recurse)  # <- finding

    def forward(self, x):
        return self.head(self.body(x))


torch.manual_seed(0)
x = torch.randn(60, 6)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for rows in torch.arange(60).split(10):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x[rows]), x[rows, :1]).backward()
    optimizer.step()
