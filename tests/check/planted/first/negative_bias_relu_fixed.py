"""Sparse-coding classifier with a ReLU code layer."""
import torch
from torch import nn


class SparseCode(nn.Module):
    def __init__(self, n_in, n_code):
        super().__init__()
        self.lin = nn.Linear(n_in, n_code)
        nn.init.constant_(self.lin.bias, -0.1)

    def forward(self, x):
        return torch.relu(self.lin(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.code = SparseCode(16, 64)
        self.out = nn.Linear(64, 4)

    def forward(self, x):
        return self.out(self.code(x))


torch.manual_seed(0)
proto = torch.randn(4, 16)


def batch(n):
    y = torch.randint(0, 4, (n,))
    return proto[y] + 0.7 * torch.randn(n, 16), y


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(200):
    x, y = batch(64)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = batch(400)
    print("loss", loss.item(), "acc", (net(x).argmax(1) == y).float().mean().item())
