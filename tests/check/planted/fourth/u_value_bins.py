"""Delivery time as a distribution over bins; cross entropy plus an error of the mean."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class BinnedRegressor(nn.Module):
    def __init__(self, features, low=-3.0, high=3.0, bins=25):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 48), nn.SiLU(), nn.Linear(48, bins))
        centers = np.linspace(low, high, bins)
        self.register_buffer("centers", torch.as_tensor(centers))  # BUG device-dtype-mixed

    def forward(self, x):
        logits = self.net(x)
        mean = (logits.softmax(dim=1) * self.centers).sum(dim=1)  # BUG device-dtype-mixed
        return logits, mean

    def nearest_bin(self, y):
        return (y[:, None] - self.centers[None, :]).abs().argmin(dim=1)


def deliveries(n):
    x = torch.randn(n, 6)
    y = x[:, 0] + 0.5 * x[:, 1].abs() + 0.3 * x[:, 2] * x[:, 3] + 0.2 * torch.randn(n)
    return x, (y - 0.4).clamp(-3, 3)


torch.manual_seed(0)
x, y = deliveries(1000)
x_val, y_val = deliveries(200)
model = BinnedRegressor(6)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(150):
    idx = torch.randint(0, 1000, (64,))
    logits, mean = model(x[idx])
    loss = F.cross_entropy(logits, model.nearest_bin(y[idx])) + (mean - y[idx]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        with torch.no_grad():
            error = (model(x_val)[1] - y_val).abs().mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} val mae {error:.4f}")
