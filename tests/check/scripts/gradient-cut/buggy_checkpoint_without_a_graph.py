"""A reentrant checkpoint of the first layer, whose input needs no gradient."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
x, y = torch.randn(256, 8), torch.randn(256, 1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        h = checkpoint(self.stem, x, use_reentrant=True)  # <- finding
        return self.head(h)


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(40):
    i = torch.randint(0, 256, (32,))
    loss = F.mse_loss(net(x[i]), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
