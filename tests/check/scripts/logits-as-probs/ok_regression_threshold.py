"""Regression on 0/1 targets: the output itself is compared with one half and rounded."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
detector = nn.Linear(3, 1)
optimizer = torch.optim.Adam([*model.parameters(), *detector.parameters()], lr=0.05)
x = torch.randn(20, 3)
y = (x[:, :1] > 0).float()
for _ in range(5):
    optimizer.zero_grad()
    out = model(x)
    loss = nn.functional.mse_loss(out, y) + nn.functional.binary_cross_entropy_with_logits(detector(x), y)
    loss.backward()
    optimizer.step()
    accuracy = ((out > 0.5).float() == y).float().mean().item()
    rounded = (out.detach().round() == y).float().mean().item()
print(loss.item(), accuracy, rounded)
