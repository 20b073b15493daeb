"""Kernel regression with inducing points, learned output weights and noisy mini batches."""
import functools

import torch
from torch import nn

torch.manual_seed(0)
inducing = 4 * torch.rand(128, 2) - 2


@functools.lru_cache(maxsize=None)  # BUG memory-growth
def kernel_features(x, length_scale=0.5):
    d2 = (x[:, None, :] - inducing[None, :, :]).pow(2).sum(-1)
    return torch.exp(-d2 / (2 * length_scale ** 2))


def hills(n):
    x = 4 * torch.rand(n, 2) - 2
    return x, torch.sin(2 * x[:, 0]) * torch.cos(x[:, 1]) + 0.1 * torch.randn(n)


@functools.cache
def learning_rate(step, total=200, base=5e-2):
    return base * (1 - step / total)


x, y = hills(2000)
x_val, y_val = hills(300)
readout = nn.Linear(128, 1)
opt = torch.optim.Adam(readout.parameters(), lr=learning_rate(0))
for step in range(200):
    for group in opt.param_groups:
        group["lr"] = learning_rate(step)
    idx = torch.randint(0, len(x), (200,))
    batch = x[idx] + 0.02 * torch.randn(200, 2)
    loss = nn.functional.mse_loss(readout(kernel_features(batch)).squeeze(1), y[idx])  # BUG memory-growth
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        with torch.no_grad():
            val = nn.functional.mse_loss(readout(kernel_features(x_val)).squeeze(1), y_val).item()
        print(f"step {step + 1} train {loss.item():.4f} val {val:.4f}")
