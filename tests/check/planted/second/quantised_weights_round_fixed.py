"""Quantisation-aware training: linear layers with weights on a 4-bit grid."""
import torch
from torch import nn
import torch.nn.functional as F


def fake_quant(w, bits=4):
    scale = w.detach().abs().max() / (2 ** (bits - 1) - 1)
    return w + (torch.round(w / scale) * scale - w).detach()


class QLinear(nn.Linear):
    def forward(self, x):
        return F.linear(x, fake_quant(self.weight), self.bias)


def net(widths):
    mods = []
    for a, b in zip(widths, widths[1:]):
        mods += [QLinear(a, b), nn.ReLU()]
    return nn.Sequential(*mods[:-1])


def batch(n):
    x = torch.randn(n, 12)
    return x, ((x[:, 0] > 0).long() + 2 * (x[:, 1] > x[:, 2]).long())


torch.manual_seed(0)
model = net([12, 32, 4])
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(250):
    x, y = batch(64)
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = batch(500)
    print(f"loss {loss.item():.3f} acc {(model(x).argmax(1) == y).float().mean():.3f}")
