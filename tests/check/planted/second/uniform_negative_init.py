"""Histogram features classified by a ReLU network."""
import math
import torch
from torch import nn


def init_(lin):
    b = 1 / math.sqrt(lin.in_features)
    nn.init.uniform_(lin.weight, -b, 0)  # BUG dead-units
    nn.init.zeros_(lin.bias)
    return lin


def histograms(n, bins=12):
    y = torch.randint(0, 3, (n,))
    conc = torch.ones(3, bins)
    for k in range(3):
        conc[k, 4 * k:4 * k + 4] = 4.0
    return torch.distributions.Dirichlet(conc[y]).sample() * bins, y


torch.manual_seed(0)
net = nn.Sequential(init_(nn.Linear(12, 32)), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(200):
    x, y = histograms(64)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = histograms(400)
    print("loss", loss.item(), "acc", (net(x).argmax(1) == y).float().mean().item())
