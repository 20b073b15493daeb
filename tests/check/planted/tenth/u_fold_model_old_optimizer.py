"""Restarts from several seeds, the best one is kept."""

import torch
from torch import nn


def build(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 1))


def run(model, opt, x, y, steps=15):
    for _ in range(steps):
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


torch.manual_seed(0)
x = torch.randn(64, 3)
y = x.pow(2).sum(1, keepdim=True)
results = {}
model = build(0)
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
for seed in (0, 1, 2):
    model = build(seed)  # BUG param-replaced|param-not-in-optimizer
    results[seed] = run(model, opt, x, y)
print({seed: round(loss, 3) for seed, loss in results.items()})
