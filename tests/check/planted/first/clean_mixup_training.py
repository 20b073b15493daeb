"""Mixup for a small classifier."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
centers = torch.randn(5, 10)
beta = torch.distributions.Beta(0.4, 0.4)


def batch(n):
    y = torch.randint(0, 5, (n,))
    return centers[y] + 0.8 * torch.randn(n, 10), y


net = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 5))
opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
for step in range(200):
    x, y = batch(64)
    lam = beta.sample().item()
    perm = torch.randperm(64)
    out = net(lam * x + (1 - lam) * x[perm])
    loss = lam * F.cross_entropy(out, y) + (1 - lam) * F.cross_entropy(out, y[perm])
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = batch(500)
    print("acc", (net(x).argmax(1) == y).float().mean().item())
