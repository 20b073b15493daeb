"""Regression with an orthogonality penalty handled in a second backward."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.a, self.b = nn.Linear(10, d), nn.Linear(d, 1)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))

    def penalty(self):
        w = self.a.weight.t()
        return (w @ w.t() - torch.eye(w.shape[0])).pow(2).mean()


def batch(n):
    x = torch.randn(n, 10)
    return x, x[:, :1] * 1.5 + torch.sin(2 * x[:, 1:2])


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(300):
    x, y = batch(64)
    opt.zero_grad()
    mse = nn.functional.mse_loss(net(x), y)
    mse.backward()
    reg = 0.1 * net.penalty()
    opt.zero_grad()  # BUG zero-between-backward-and-step
    reg.backward()
    opt.step()
print("mse", mse.item(), "penalty", reg.item(), "variance", y.var().item())
