"""A ReLU that is written out as a product."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def act(x):
    return x * (x > 0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 32)
        self.b = nn.Linear(32, 1)
        nn.init.constant_(self.a.bias, -8.0)  # <- finding

    def forward(self, x):
        return self.b(act(self.a(x)))


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
X = torch.randn(256, 5)
Y = X[:, :1]
for step in range(60):
    loss = F.mse_loss(net(X), Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
