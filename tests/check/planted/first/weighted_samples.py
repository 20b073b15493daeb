"""Importance-weighted binary classification under covariate shift."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(1)


def draw(n, shift=0.0):
    x = torch.randn(n, 3) + torch.tensor([shift, 0.0, 0.0])
    y = ((x[:, 0] > 0.5) ^ (x[:, 1] > 0)).float().unsqueeze(1)
    return x, y


def density_ratio(x, shift=1.0):
    w = torch.exp(shift * x[:, 0] - shift ** 2 / 2).clamp(max=10)
    return w / w.mean()


net = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(250):
    x, y = draw(96)
    w = density_ratio(x)
    per_sample = F.binary_cross_entropy_with_logits(net(x), y, reduction="none")
    loss = (w * per_sample).mean()  # BUG mutual-broadcast
    opt.zero_grad()
    loss.backward()
    opt.step()
x, y = draw(1000, shift=1.0)
with torch.no_grad():
    print("shifted accuracy", ((net(x) > 0) == (y > 0.5)).float().mean().item())
