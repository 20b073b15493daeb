"""Transformer-like mixer block with a pre-norm."""
import torch
from torch import nn


class MixerBlock(nn.Module):
    def __init__(self, t, d):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.tok = nn.Linear(t, t)
        self.chan = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        x = x + self.tok(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        y = self.norm2(x)  # BUG param-unused
        return x + self.chan(x)  # BUG param-unused


class Mixer(nn.Module):
    def __init__(self, t=9, d=16, depth=2, n_cls=9):
        super().__init__()
        self.inp = nn.Linear(2, d)
        self.blocks = nn.Sequential(*[MixerBlock(t, d) for _ in range(depth)])
        self.out = nn.Linear(t * d, n_cls)

    def forward(self, x):
        return self.out(self.blocks(self.inp(x)).flatten(1))


def board(n):
    """find the cell whose two features add up to the largest value"""
    x = torch.randn(n, 9, 2)
    return x, x.sum(-1).argmax(1)


torch.manual_seed(0)
net = Mixer()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(250):
    x, y = board(64)
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = board(400)
    print("loss", loss.item(), "acc", (net(x).argmax(1) == y).float().mean().item())
