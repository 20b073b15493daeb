"""Tide height model with a quickly decaying learning rate."""
import math
import torch
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR

torch.manual_seed(31)
t = torch.rand(500, 1) * 4
height = torch.sin(math.pi * t) + 0.4 * torch.sin(2 * math.pi * t + 1)
feats = torch.cat([torch.sin(math.pi * t), torch.cos(math.pi * t), t - 2], 1)

net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.8)
sched = ExponentialLR(opt, gamma=0.2)
used = []

for epoch in range(6):
    sched.step()  # BUG scheduler-before-optimizer
    used.append(round(opt.param_groups[0]["lr"], 5))
    total = 0.0
    for idx in torch.randperm(500).split(50):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(feats[idx]), height[idx])
        loss.backward()
        opt.step()  # BUG scheduler-before-optimizer
        total += loss.item() * len(idx)
    print(f"epoch {epoch}: lr {used[-1]} mse {total / 500:.5f}")
print("rates used:", used)
