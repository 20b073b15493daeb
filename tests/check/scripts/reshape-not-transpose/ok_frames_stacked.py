"""Pairs of frames stacked, whose new shape is the old one's with its sizes exchanged; heads folded into the batch."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
batch, time, width, heads = 8, 8, 4, 2
down, up = nn.Linear(width, width), nn.Linear(2 * width, 3)
project = nn.Linear(width, 32)
optimizer = torch.optim.SGD([*down.parameters(), *up.parameters(), *project.parameters()], lr=0.1)
x, y = torch.randn(batch, time, width), torch.randint(0, 3, (batch,))
for _ in range(3):
    h = torch.relu(down(x))
    stacked = h.view(batch, time // 2, 2 * width)
    seq_first = project(x).transpose(0, 1).contiguous()
    folded = seq_first.view(time, batch * 4, 8).transpose(0, 1)
    loss = F.cross_entropy(up(stacked).mean(dim=1), y) + (folded @ folded.transpose(1, 2)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
