"""Fourier position features, memoised so that they are not rebuilt for each call."""
import functools
import gc
import torch
from torch import nn


class PositionNet(nn.Module):
    def __init__(self, bands=8):
        super().__init__()
        self.bands = bands
        self.net = nn.Sequential(nn.Linear(2 * bands, 32), nn.ReLU(), nn.Linear(32, 1))

    @functools.lru_cache(maxsize=None)  # BUG memory-growth
    def features(self, t):
        freq = 2.0 ** torch.arange(self.bands)
        angle = t.unsqueeze(-1) * freq
        return torch.cat([angle.sin(), angle.cos()], -1)

    def forward(self, t):
        return self.net(self.features(t)).squeeze(-1)


def alive():
    return sum(1 for o in gc.get_objects() if type(o) is torch.Tensor)


torch.manual_seed(0)
net = PositionNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(241):
    t = torch.rand(128)
    target = torch.sin(9 * t) * t
    loss = nn.functional.mse_loss(net(t), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 80 == 0:
        print(f"step {step} loss {loss.item():.4f} tensors alive {alive()}")
