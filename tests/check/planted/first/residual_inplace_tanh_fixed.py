"""Residual tanh network for a periodic function."""
import torch
from torch import nn


class TanhBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin = nn.Linear(d, d)

    def forward(self, x):
        out = torch.tanh(self.lin(x))
        out = out + x
        return out


class Net(nn.Module):
    def __init__(self, d=32, depth=3):
        super().__init__()
        self.inp = nn.Linear(1, d)
        self.blocks = nn.Sequential(*[TanhBlock(d) for _ in range(depth)])
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        return self.out(self.blocks(self.inp(x)))


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(250):
    x = torch.rand(64, 1) * 6 - 3
    loss = nn.functional.mse_loss(net(x), torch.sin(2 * x))
    opt.zero_grad()
    loss.backward()
    opt.step()
print("mse", loss.item())
