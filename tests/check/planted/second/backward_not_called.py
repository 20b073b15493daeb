"""Ordinal regression with cumulative links."""
import torch
from torch import nn
import torch.nn.functional as F


class Cumulative(nn.Module):
    def __init__(self, n_in, k):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(n_in, 24), nn.ReLU(), nn.Linear(24, 1))
        self.cuts = nn.Parameter(torch.linspace(-1, 1, k - 1))

    def forward(self, x):
        return self.score(x) - self.cuts


def draw(n):
    x = torch.randn(n, 6)
    return x, torch.bucketize(x[:, 0] + 0.5 * x[:, 1], torch.tensor([-1.0, 0.0, 1.0]))


torch.manual_seed(0)
net = Cumulative(6, 4)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(250):
    x, y = draw(64)
    levels = (y[:, None] > torch.arange(3)).float()
    loss = F.binary_cross_entropy_with_logits(net(x), levels)
    opt.zero_grad()
    loss.backward  # BUG step-without-backward
    opt.step()  # BUG step-without-backward
with torch.no_grad():
    x, y = draw(500)
    print("loss", loss.item(), "acc", ((net(x) > 0).sum(1) == y).float().mean().item())
