"""Spiral classification with a deep plain MLP and a custom initialiser."""
import torch
from torch import nn
from functools import partial


def spirals(n, arms=3):
    k = torch.randint(0, arms, (n,))
    r = torch.rand(n) * 0.9 + 0.1
    ang = r * 4 + k * (6.2832 / arms) + 0.1 * torch.randn(n)
    return torch.stack([r * ang.cos(), r * ang.sin()], 1), k


def init(m, scale):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, std=scale)  # BUG exploding-gradient
        nn.init.zeros_(m.bias)


def mlp(dims):
    mods = []
    for i in range(len(dims) - 1):
        mods.append(nn.Linear(dims[i], dims[i + 1]))
        if i < len(dims) - 2:
            mods.append(nn.LeakyReLU(0.1))
    return nn.Sequential(*mods)


class Trainer:
    def __init__(self, net, lr):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=lr)
        self.ce = nn.CrossEntropyLoss()

    def fit(self, x, y, steps):
        for _ in range(steps):
            idx = torch.randint(0, len(x), (128,))
            loss = self.ce(self.net(x[idx]), y[idx])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()


torch.manual_seed(0)
xtr, ytr = spirals(1500)
xva, yva = spirals(500)
net = mlp([2] + [64] * 8 + [3])
net.apply(partial(init, scale=1.0))
tr = Trainer(net, lr=2e-3)
print("loss", tr.fit(xtr, ytr, 300))
with torch.no_grad():
    print("val acc", (net(xva).argmax(1) == yva).float().mean().item())
