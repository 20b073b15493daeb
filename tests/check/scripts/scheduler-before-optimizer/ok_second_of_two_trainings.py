"""The same, stepped at the end of each step; an accumulated step in which the optimizer waits."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(32, 4)
y = x.sum(1, keepdim=True)


def fit(net, lr, steps, scheduled):
    opt = torch.optim.SGD(net.parameters(), lr=lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=steps) if scheduled else None
    for _ in range(steps):
        opt.zero_grad()
        for half in range(2):
            loss = (net(x[half::2]) - y[half::2]).pow(2).mean() / 2
            loss.backward()
        opt.step()
        if schedule is not None:
            schedule.step()
    return loss.item()


print(fit(nn.Linear(4, 1), 0.05, 6, False))
print(fit(nn.Linear(4, 1), 0.05, 8, True))
