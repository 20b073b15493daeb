"""A cycle that is made for all steps and is stepped once per epoch."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 6)
y = (x[:, 0] > 0).long()
model = nn.Linear(6, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=40)
for epoch in range(5):
    for rows in torch.randperm(64).split(8):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    scheduler.step()  # <- finding
    print(epoch, loss.item())
