"""Dropout is switched on again for an evaluation, batch norm off for training."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), 1e-3)


def mode():
    net.train()
    for m in net.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.eval()


for e in range(4):
    mode()
    for _ in range(10):
        x = torch.randn(32, 5)
        loss = (net(x) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    for m in net.modules():
        if isinstance(m, nn.Dropout):
            m.train()
    with torch.no_grad():
        x = torch.randn(32, 5)
        p = torch.stack([net(x) for _ in range(8)])
        print(p.std(0).mean().item())
    net.eval()
    for m in net.modules():
        if isinstance(m, nn.Dropout):
            m.training = True
    with torch.no_grad():
        x = torch.randn(32, 5)
        p = torch.stack([net(x) for _ in range(8)])
        print(p.std(0).mean().item())
