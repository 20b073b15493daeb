"""Each row by itself, each batch by itself, and the targets by theirs."""

import torch
from torch import nn

torch.manual_seed(0)
x, held = torch.randn(60, 8) * 4 + 2, torch.randn(30, 8) * 4 + 5
target = (x[:, :1] - x[:, :1].mean()) / x[:, :1].std()
x = (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)
held = (held - held.mean(1, keepdim=True)) / held.std(1, keepdim=True)
model = nn.Linear(8, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for rows in torch.randperm(60).split(20):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x[rows]), target[rows])
    loss.backward()
    optimizer.step()
with torch.no_grad():
    out = model(held)
    print(((out - out.mean(0)) / out.std(0)).norm().item())
