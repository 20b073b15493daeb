"""Arrays of each step in a dictionary of a class."""

import torch
from torch import nn


class Probe:
    cache = {}

    def __init__(self, net):
        self.n = 0
        net[0].register_forward_hook(self.save)

    def save(self, module, given, out):
        self.n += 1
        Probe.cache[self.n] = out.detach().numpy().copy()  # <- finding


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 128), nn.ReLU(), nn.Linear(128, 1))
probe = Probe(net)
opt = torch.optim.SGD(net.parameters(), 1e-2)
for _ in range(140):
    x = torch.randn(64, 8)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(len(probe.cache))
