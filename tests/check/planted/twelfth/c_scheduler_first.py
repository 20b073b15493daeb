"""Cosine schedule, stepped each batch."""

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR

torch.manual_seed(16)
net = nn.Sequential(nn.Linear(5, 16), nn.SiLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
scheduler = CosineAnnealingLR(optimizer, T_max=60)


def train_step(x, y):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    scheduler.step()  # BUG scheduler-before-optimizer
    optimizer.step()
    return loss.item()


for step in range(60):
    x = torch.randn(32, 5)
    y = x.prod(dim=1, keepdim=True).tanh()
    value = train_step(x, y)
print(value, scheduler.get_last_lr())
