"""Smoothed labels are written into a tensor of whole numbers."""

import torch
import torch.nn.functional as F
from torch import nn

EPS, K = 0.1, 5


def smooth_targets(y, eps=EPS):
    hard = F.one_hot(y, K)
    soft = torch.full_like(hard, eps / (K - 1))  # <- finding
    soft[hard.bool()] = 1 - eps
    return soft


def soft_ce(logits, target):
    return -(target * F.log_softmax(logits, 1)).sum(1).mean()


torch.manual_seed(5)
centres = torch.randn(K, 6) * 2
y = torch.randint(0, K, (500,))
x = centres[y] + torch.randn(500, 6)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, K))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(12):
    for idx in torch.randperm(500).split(50):
        loss = soft_ce(net(x[idx]), smooth_targets(y[idx]))
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 4 == 0:
        print(epoch, f"loss {loss.item():.4f}")
with torch.no_grad():
    print("loss", round(loss.item(), 5), "accuracy", round((net(x).argmax(1) == y).float().mean().item(), 3))
