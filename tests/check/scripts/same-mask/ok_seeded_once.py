"""Seeded once; samples are drawn from a fixed noise for looking at, and an evaluation has its own stream."""

import torch
from torch import nn


def evaluate(model, x):
    model.eval()
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(123)
        return (model(x + 0.1 * torch.randn_like(x)) - x).pow(2).mean().item()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 6))
fixed = torch.randn(16, 6)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(16, 6)
for epoch in range(5):
    model.train()
    optimizer.zero_grad()
    noisy = x + 0.1 * torch.randn(x.shape)
    loss = nn.functional.mse_loss(model(noisy), x)
    loss.backward()
    optimizer.step()
    print(epoch, evaluate(model, x), evaluate(model, fixed))
