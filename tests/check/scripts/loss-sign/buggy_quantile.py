"""Quantile regression: the 0.9 quantile should cover nine of ten."""
import torch
from torch import nn

QUANTILES = (0.1, 0.5, 0.9)


class QuantileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, len(QUANTILES)))

    def forward(self, x):
        return self.trunk(x)


def pinball(pred, y):
    losses = []
    for k, q in enumerate(QUANTILES):
        error = pred[:, k] - y  # <- finding
        losses.append(torch.maximum(q * error, (q - 1) * error).mean())
    return sum(losses)


def draw(n):
    x = torch.rand(n, 2) * 4 - 2
    return x, torch.sin(x[:, 0]) + (0.2 + 0.3 * x[:, 1].abs()) * torch.randn(n)


torch.manual_seed(118)
net = QuantileNet()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(12):
    x, y = draw(128)
    loss = pinball(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
x, y = draw(2000)
with torch.no_grad():
    print("coverage", [round((y <= net(x)[:, k]).float().mean().item(), 2) for k in range(3)])
