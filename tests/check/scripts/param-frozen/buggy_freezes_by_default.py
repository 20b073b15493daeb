"""The second phase freezes again, by the default of an argument."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 8)
y = (x[:, 0] > 0).long()


def set_trainable(module, trainable=False):
    for p in module.parameters():
        p.requires_grad = trainable


net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
set_trainable(net[0], False)
head_opt = torch.optim.Adam(net[2].parameters(), lr=1e-2)
for step in range(20):
    i = torch.randint(0, 256, (32,))
    loss = F.cross_entropy(net(x[i]), y[i])
    head_opt.zero_grad()
    loss.backward()
    head_opt.step()
set_trainable(net[0])  # <- finding
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(20):
    i = torch.randint(0, 256, (32,))
    loss = F.cross_entropy(net(x[i]), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
