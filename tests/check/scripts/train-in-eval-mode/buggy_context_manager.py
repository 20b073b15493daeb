from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def evaluation(net):
    was = net.training
    net.eval()
    with torch.no_grad():
        yield  # <- finding
    assert was in (True, False)


torch.manual_seed(0)
x = torch.randn(120, 6)
y = (x[:, 0] > 0).long()
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for rows in torch.randperm(100).split(20):
        opt.zero_grad()
        nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
        opt.step()
    with evaluation(net):
        print(nn.functional.cross_entropy(net(x[100:]), y[100:]).item())
