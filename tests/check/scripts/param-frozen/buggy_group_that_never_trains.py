"""A group with a rate of its own is frozen by the default of an argument."""

import torch
from torch import nn

torch.manual_seed(0)


def configure(model, train_backbone=False):
    for p in model[0].parameters():
        p.requires_grad = train_backbone
    return [{"params": model[0].parameters(), "lr": 1e-3}, {"params": model[2].parameters(), "lr": 1e-2}]


net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(configure(net))  # <- finding

for _ in range(60):
    x = torch.randn(16, 6)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
