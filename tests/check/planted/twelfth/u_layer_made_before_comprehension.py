"""An encoder of N equal layers, as in the annotated transformer."""

import torch
from torch import nn


def clones(module, n):
    return nn.ModuleList([module for _ in range(n)])  # BUG param-shared


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        return x + self.ff(self.norm(x))


class Encoder(nn.Module):
    def __init__(self, d=16, n=3, classes=4):
        super().__init__()
        self.layers = clones(Layer(d), n)  # BUG param-shared
        self.out = nn.Linear(d, classes)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.out(x)


torch.manual_seed(46)
net = Encoder()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
teacher = torch.randn(16, 4)
for step in range(30):
    x = torch.randn(64, 16)
    y = (x.sin() @ teacher).argmax(1)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
