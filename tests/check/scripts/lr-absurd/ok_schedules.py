"""Schedules that end at a small rate, one that starts at none, a factor for LambdaLR, rates that are compared with each other."""

import torch
from torch import nn
from torch.optim import lr_scheduler

torch.manual_seed(0)
x = torch.randn(48, 5)


def train(rate, schedule, steps=40):
    model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    plan = schedule(optimizer)
    for _ in range(steps):
        loss = nn.functional.mse_loss(model(x), x[:, :1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        plan.step()
    return loss.item()


print(train(0.05, lambda o: lr_scheduler.CosineAnnealingLR(o, 40)))
print(train(0.05, lambda o: lr_scheduler.LambdaLR(o, lambda k: min(1.0, k / 10))))
print(train(0.05, lambda o: lr_scheduler.StepLR(o, 15, gamma=0.1)))
print(train(0.05, lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=40)))
print({rate: train(rate, lambda o: lr_scheduler.ConstantLR(o, 1.0), 4) for rate in (0.003, 0.03, 0.3)})
