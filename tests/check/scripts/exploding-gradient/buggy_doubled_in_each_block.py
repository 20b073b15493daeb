"""Each block doubles its result."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = nn.Linear(d, d)
        self.b = nn.Linear(d, d)

    def forward(self, x):
        x = x + self.b(F.relu(self.a(x)))
        return x + x  # <- finding


net = nn.Sequential(nn.Linear(8, 32), *[Block(32) for _ in range(20)], nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
X = torch.randn(256, 8)
Y = X[:, :1].sin()
for step in range(40):
    loss = F.mse_loss(net(X), Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
