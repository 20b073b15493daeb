"""The same layer is appended several times."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, layer, depth):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(depth):
            self.layers.append(layer)  # <- finding

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x


torch.manual_seed(0)
net = Encoder(nn.Linear(4, 4), 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = (net(torch.randn(4, 4)) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
