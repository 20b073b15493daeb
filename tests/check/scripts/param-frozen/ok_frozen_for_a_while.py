"""The critic is frozen while the generator learns, and free again afterwards."""

import contextlib

import torch
from torch import nn


@contextlib.contextmanager
def frozen(net):
    state = [p.requires_grad for p in net.parameters()]
    for p in net.parameters():
        p.requires_grad_(False)
    yield
    for p, s in zip(net.parameters(), state):
        p.requires_grad_(s)


torch.manual_seed(0)
g, d = nn.Linear(4, 3), nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
og, od = torch.optim.Adam(g.parameters(), 1e-3), torch.optim.Adam(d.parameters(), 1e-3)
bce = nn.functional.binary_cross_entropy_with_logits
for _ in range(30):
    fake = g(torch.randn(16, 4))
    with frozen(d):
        out = d(fake)
        og.zero_grad()
        bce(out, torch.ones(16, 1)).backward()
        og.step()
    l = bce(d(torch.randn(16, 3)), torch.ones(16, 1)) + bce(d(fake.detach()), torch.zeros(16, 1))
    od.zero_grad()
    if l.requires_grad:
        l.backward()
    od.step()
