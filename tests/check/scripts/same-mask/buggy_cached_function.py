"""The function that draws a mask keeps its first result."""

from functools import lru_cache

import torch
from torch import nn


@lru_cache  # <- finding
def column_mask(width, keep):
    return (torch.rand(width) < keep).float() / keep


class ColumnDropout(nn.Module):
    def __init__(self, keep=0.5):
        super().__init__()
        self.keep = keep
        self.seen = set()

    def forward(self, h):
        if not self.training:
            return h
        mask = column_mask(h.size(-1), self.keep)
        self.seen.add(tuple(mask.tolist()))
        return h * mask


torch.manual_seed(0)
x = torch.randn(300, 10)
y = (x[:, :5].sum(1) > 0).long()
drop = ColumnDropout()
net = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), drop, nn.Linear(40, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(30):
    net.train()
    for idx in torch.randperm(300).split(50):
        loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
net.eval()
with torch.no_grad():
    out = net(x)
print(
    "accuracy", round((out.argmax(1) == y).float().mean().item(), 3), "loss", round(nn.functional.cross_entropy(out, y).item(), 4)
)
print("different masks", len(drop.seen))
