"""Convolutional regressor with a normalisation layer written by hand."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class GroupScale(nn.Module):
    """Group norm with a learned scale and shift per channel."""

    def __init__(self, channels, groups=2):
        super().__init__()
        self.groups = groups
        self.scale = nn.Parameter(torch.ones(channels))
        self.shift = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        return F.group_norm(x, self.groups, eps=1e-4)  # <- finding


class Depth(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 12, 5, padding=2)
        self.norm = GroupScale(12)
        self.out = nn.Linear(12, 1)

    def forward(self, x):
        h = F.gelu(self.norm(self.conv(x)))
        return self.out(h.amax(dim=2)).squeeze(1)


def echoes(n, length=40):
    """Depth of a layer from two-channel echo traces."""
    depth = torch.rand(n)
    t = torch.linspace(0, 1, length)
    pulse = torch.exp(-((t - depth[:, None]) ** 2) / 0.005)
    traces = torch.stack([pulse * (1 - depth[:, None]), pulse * depth[:, None]], dim=1)
    return traces + 0.02 * torch.randn(n, 2, length), depth


torch.manual_seed(0)
x, depth = echoes(600)
x_val, depth_val = echoes(150)
net = Depth()
opt = torch.optim.AdamW(net.parameters(), lr=5e-3, weight_decay=0.0)
for step in range(120):
    idx = torch.randint(0, 600, (50,))
    loss = F.mse_loss(net(x[idx]), depth[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 39:
        with torch.no_grad():
            print(f"step {step + 1} train {loss.item():.5f} val {F.mse_loss(net(x_val), depth_val).item():.5f}")
