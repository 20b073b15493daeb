"""River level forecast with a smoothed training curve."""

import math

import torch
from torch import nn


class Smoother:
    def __init__(self, beta=0.95):
        self.beta, self.value, self.weight = beta, 0.0, 0.0

    def add(self, x):
        self.value = self.value * self.beta + x * (1 - self.beta)
        self.weight = self.beta * self.weight + (1 - self.beta)
        return self.value / self.weight


def river(length):
    t = torch.arange(length).float()
    rain = torch.relu(torch.randn(length) - 1.0)
    level = torch.zeros(length)
    for i in range(1, length):
        level[i] = 0.85 * level[i - 1] + rain[i - 1]
    return torch.stack([level - 0.5, 3 * rain, torch.sin(2 * math.pi * t / 365)], dim=1)


torch.manual_seed(0)
series = river(900)
windows = series.unfold(0, 9, 1).transpose(1, 2)
history, target = windows[:, :8].flatten(1), windows[:, 8, 0]
x, y, x_val, y_val = history[:700], target[:700], history[710:], target[710:]

net = nn.Sequential(nn.Linear(24, 32), nn.Tanh(), nn.Linear(32, 1), nn.Flatten(0))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
smooth = Smoother()
for step in range(200):
    idx = torch.randint(0, 700, (50,))
    loss = nn.functional.mse_loss(net(x[idx]), y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    shown = smooth.add(loss)  # <- finding
    if step % 50 == 49:
        with torch.no_grad():
            val = nn.functional.mse_loss(net(x_val), y_val).item()
        print(f"step {step + 1} smoothed {float(shown):.4f} val {val:.4f}")
