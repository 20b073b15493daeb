"""Quantisation-aware training with a straight-through estimator written as a sum."""
import torch
from torch import nn


class QuantLinear(nn.Linear):
    def __init__(self, i, o, bits=4):
        super().__init__(i, o)
        self.levels = 2 ** (bits - 1) - 1

    def quantize(self, w):
        scale = w.detach().abs().max() / self.levels
        q = torch.round(w / scale) * scale
        return w + (q - w).detach()

    def forward(self, x):
        return nn.functional.linear(x, self.quantize(self.weight), self.bias)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(QuantLinear(10, 32), nn.ReLU(), QuantLinear(32, 32), nn.ReLU())
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(self.body(x))


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        acc = (net(x).argmax(1) == y).float().mean().item()
    net.train()
    return acc


torch.manual_seed(0)
x = torch.randn(400, 10)
y = (x @ torch.randn(10, 3)).tanh().argmax(1)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(6):
    for idx in torch.randperm(320).split(40):
        loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), accuracy(net, x[320:], y[320:]))
