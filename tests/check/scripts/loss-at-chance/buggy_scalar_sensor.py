"""Fault detection from one vibration sensor: normalise, embed every sample, pool."""

import torch
import torch.nn as nn
import torch.nn.functional as F

LENGTH = 32


class SensorNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.norm = nn.LayerNorm(1)  # <- finding
        self.embed = nn.Sequential(nn.Linear(1, width), nn.GELU(), nn.Linear(width, width), nn.GELU())
        self.out = nn.Linear(width, 2)

    def forward(self, x):
        x = self.norm(x.unsqueeze(-1))
        return self.out(self.embed(x).mean(dim=1))


def recordings(n):
    """A faulty bearing makes rare large spikes."""
    y = torch.arange(n) % 2
    x = torch.randn(n, LENGTH)
    spikes = 6.0 * (torch.rand(n, LENGTH) < 0.1).float() * torch.randn(n, LENGTH)
    return x + y[:, None] * spikes, y


torch.manual_seed(0)
x, y = recordings(1000)
x_val, y_val = recordings(200)
net = SensorNet()
opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
for step in range(150):
    idx = torch.randint(0, 1000, (64,))
    loss = F.cross_entropy(net(x[idx]), y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 29:
        with torch.no_grad():
            acc = (net(x_val).argmax(1) == y_val).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} val accuracy {acc:.3f}")
