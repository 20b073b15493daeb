"""Gradients of 16 means are added up for each step, at a rate for one of them."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(512, 8)
y = x @ torch.randn(8, 4)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(4):
    optimizer.zero_grad()
    for k, rows in enumerate(torch.randperm(512).split(8), start=1):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()  # <- finding
        if k % 16 == 0:
            optimizer.step()
            optimizer.zero_grad()
print(loss.item())
