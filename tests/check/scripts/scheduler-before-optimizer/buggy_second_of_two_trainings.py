"""A teacher is trained first; the schedule of the student is stepped at the beginning of each step."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(32, 4)
y = x.sum(1, keepdim=True)


def fit(net, lr, steps, scheduled):
    opt = torch.optim.SGD(net.parameters(), lr=lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=steps) if scheduled else None
    for _ in range(steps):
        if schedule is not None:
            schedule.step()  # <- finding
        loss = (net(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


print(fit(nn.Linear(4, 1), 0.05, 6, False))
print(fit(nn.Linear(4, 1), 0.05, 8, True))
