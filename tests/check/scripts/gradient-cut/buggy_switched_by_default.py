"""Gradients are off by the default of an argument."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 8)
y = (x[:, 0] > 0).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(8, 16)
        self.head = nn.Linear(16, 2)

    def encode(self, x, grad=False):  # <- finding
        with torch.set_grad_enabled(grad):
            return torch.relu(self.enc(x))

    def forward(self, x):
        return self.head(self.encode(x))


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(40):
    i = torch.randint(0, 256, (32,))
    loss = F.cross_entropy(net(x[i]), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
