"""The shortcut is another name for the tensor that relu_ writes to."""

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)

    def forward(self, x):
        identity = x
        x = F.relu_(x)  # <- finding
        x = F.relu(self.first(x))
        return self.second(x) + identity


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), Block(16), Block(16), nn.Linear(16, 1))
x = torch.randn(96, 5)
y = x[:, :1] * x[:, 1:2]
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(8):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
