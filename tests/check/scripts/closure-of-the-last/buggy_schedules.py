"""A schedule for each optimizer, all with the last rate of decay."""

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

torch.manual_seed(0)
x = torch.randn(40, 3)
models = [nn.Linear(3, 1) for _ in range(2)]
optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in models]
schedules = []
for optimizer, gamma in zip(optimizers, (0.9, 0.5), strict=True):
    schedules.append(LambdaLR(optimizer, lambda epoch: gamma**epoch))  # <- finding
for _ in range(4):
    for model, optimizer, schedule in zip(models, optimizers, schedules, strict=True):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x[:, :1]).backward()
        optimizer.step()
        schedule.step()
