"""The function is used in the round that makes it."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(40, 4)
kept = {}
for name, rate in (("slow", 0.01), ("fast", 0.1)):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    kept[name] = lambda loss: loss * rate
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (1 - rate) ** step)
    for _ in range(3):
        optimizer.zero_grad()
        kept[name](nn.functional.mse_loss(model(x), x[:, :1])).backward()
        optimizer.step()
        schedule.step()
