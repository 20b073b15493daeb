"""Regression with a two-tower model, one tower was converted to save memory."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
        self.right = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
        self.out = nn.Linear(64, 1)

    def forward(self, a, b):
        r = self.right(b.to(self.right[0].weight.dtype)).to(a.dtype)  # BUG device-dtype-mixed
        return self.out(torch.cat([self.left(a), r], 1))


def draw(n):
    a, b = torch.randn(n, 6), torch.randn(n, 6)
    return a, b, (a[:, :1] * 0.5 + b[:, :1].abs() - b[:, 1:2])


torch.manual_seed(0)
net = Net()
net.right.bfloat16()  # BUG device-dtype-mixed
opt = torch.optim.SGD(net.parameters(), lr=2e-2)
for step in range(400):
    a, b, y = draw(64)
    loss = nn.functional.mse_loss(net(a, b), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("mse", loss.item())
