"""Multi-task classification with a head for each task."""
import torch
from torch import nn
import torch.nn.functional as F

TASKS = ("sign", "size", "parity")


class MultiHead(nn.Module):
    def __init__(self, d_in=6, d=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d_in, d), nn.ReLU())
        self.heads = nn.ModuleDict({t: nn.Linear(d, 2) for t in TASKS})

    def forward(self, x):
        h = self.trunk(x)
        return {t: head(h) for t, head in self.heads.items()}


def batch(n):
    x = torch.randn(n, 6)
    y = {"sign": (x[:, 0] > 0).long(), "size": (x.norm(dim=1) > 2.3).long(),
         "parity": ((x[:, 1] > 0) == (x[:, 2] > 0)).long()}
    return x, y


torch.manual_seed(0)
net = MultiHead()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(250):
    x, y = batch(64)
    out = net(x)
    loss = sum(F.cross_entropy(out[t], y[t]) for t in TASKS)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = batch(500)
    out = net(x)
    print({t: round((out[t].argmax(1) == y[t]).float().mean().item(), 3) for t in TASKS})
