"""A pattern for two blocks fits block ten and eleven, too."""

import re

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 8)
y = (x[:, 0] > 0).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(12)])
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        for b in self.blocks:
            x = x + 0.3 * torch.tanh(b(x))
        return self.head(x)


net = Net()
for name, p in net.named_parameters():
    if re.match(r"blocks\.[01]", name):  # <- finding
        p.requires_grad = False
opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-2)
for step in range(20):
    i = torch.randint(0, 256, (32,))
    loss = F.cross_entropy(net(x[i]), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
