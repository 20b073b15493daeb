"""Small rates for a model that is trained already."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))


def run(opt, n):
    for _ in range(n):
        x = torch.randn(32, 5)
        loss = (net(x) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


run(torch.optim.Adam(net.parameters(), 1e-2), 200)
run(torch.optim.AdamW([{"params": net[0].parameters(), "lr": 1e-6}, {"params": net[2].parameters()}], lr=1e-3), 100)
run(torch.optim.SGD(net.parameters(), lr=1e-3), 100)
