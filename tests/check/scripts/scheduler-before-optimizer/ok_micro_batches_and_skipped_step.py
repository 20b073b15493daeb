"""A schedule per micro-batch with a step every second one; and a loss scale whose first step is left out for an overflow."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 4)
for k in range(6):
    (model(torch.randn(4, 4)).pow(2).mean() / 2).backward()
    if k % 2:
        optimizer.step()
        optimizer.zero_grad()
    scheduler.step()

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)
scale = 1e38
for _ in range(5):
    optimizer.zero_grad()
    loss = (100 * model(torch.randn(4, 4))).pow(2).mean()
    (loss * scale).backward()
    gradients = [p.grad.div_(scale) for p in model.parameters()]
    if all(g.isfinite().all() for g in gradients):
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    else:
        scale /= 2**20
    scheduler.step()
print(scale, loss.item())
