"""A schedule that is only drawn, and one that is brought forward to the epoch where training goes on."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
drawn = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
curve = []
for _ in range(10):
    curve.append(drawn.get_last_lr()[0])
    drawn.step()

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
first_epoch = 3
for _ in range(first_epoch):
    scheduler.step()
for _ in range(first_epoch, 6):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
    scheduler.step()
print(curve[-1], scheduler.get_last_lr(), loss.item())
