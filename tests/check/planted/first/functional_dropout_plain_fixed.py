"""Regression with functional dropout, evaluated in eval mode."""
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, p=0.3):
        super().__init__()
        self.a, self.b = nn.Linear(6, 64), nn.Linear(64, 1)
        self.p = p

    def forward(self, x):
        x = F.relu(self.a(x))
        x = F.dropout(x, self.p, training=self.training)
        return self.b(x)


def draw(n):
    x = torch.randn(n, 6)
    return x, x[:, :1] * 2 + x[:, 1:2].abs()


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
xv, yv = draw(500)
for epoch in range(4):
    net.train()
    for _ in range(60):
        x, y = draw(64)
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(epoch, "val mse", F.mse_loss(net(xv), yv).item())
