"""Federated averaging in turn: what each participant hands in is a copy."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def local(state, k):
    net.load_state_dict(state)
    x = torch.randn(32, 4) + k
    y = (x[:, 0] > k).long()
    for _ in range(3):
        opt.zero_grad()
        F.cross_entropy(net(x), y).backward()
        opt.step()
    return copy.deepcopy(net.state_dict())


shares = [0.5, 0.25, 0.25]
total = {k: torch.zeros_like(v) for k, v in net.state_dict().items()}
for r in range(3):
    state = copy.deepcopy(net.state_dict())
    states = [local(state, k) for k in range(3)]
    net.load_state_dict({k: sum(a * s[k] for a, s in zip(shares, states)) for k in state})
    for k, v in net.state_dict().items():  # the average over rounds: each is added when it is new
        total[k] += v
print("done")
