"""Residual network with stochastic depth."""
import torch
from torch import nn


class Drop(nn.Module):
    def __init__(self, branch, p):
        super().__init__()
        self.branch, self.p = branch, p

    def forward(self, x):
        if self.training:
            if torch.rand(()).item() < self.p:
                return x
            return x + self.branch(x)
        return x + (1 - self.p) * self.branch(x)


class Net(nn.Module):
    def __init__(self, d=32, depth=5):
        super().__init__()
        self.inp = nn.Linear(4, d)
        self.body = nn.Sequential(*[
            Drop(nn.Sequential(nn.LayerNorm(d), nn.Linear(d, d), nn.GELU(), nn.Linear(d, d)), 0.4 * (i + 1) / depth)
            for i in range(depth)])
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        return self.out(self.body(self.inp(x)))


torch.manual_seed(0)
net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
for step in range(300):
    net.train()
    x = torch.randn(64, 4)
    loss = nn.functional.mse_loss(net(x), x[:, :1] * x[:, 1:2])
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    x = torch.randn(500, 4)
    print("mse", nn.functional.mse_loss(net(x), x[:, :1] * x[:, 1:2]).item())
