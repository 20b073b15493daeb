"""A decay that was meant for epochs is stepped for each batch: after forty batches nothing is left of the rate."""

import torch
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR

torch.manual_seed(0)
x = torch.randn(64, 6)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
schedule = ExponentialLR(optimizer, gamma=0.6)
for epoch in range(10):
    for rows in torch.randperm(64).split(8):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        schedule.step()  # <- finding
    print(epoch, loss.item())
