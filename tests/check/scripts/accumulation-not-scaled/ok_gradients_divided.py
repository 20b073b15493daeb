"""Sums over rows, and gradients that are divided before the step."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(256, 6)
y = x @ torch.randn(6, 1)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for i, (inputs, wanted) in enumerate(loader):
        loss = nn.functional.mse_loss(model(inputs), wanted)
        loss.backward()
        if i % 4 == 3:
            for p in model.parameters():
                p.grad /= 4
            optimizer.step()
            optimizer.zero_grad()
    print(epoch, loss.item())

for epoch in range(2):
    for i, (inputs, wanted) in enumerate(loader):
        nn.functional.mse_loss(model(inputs), wanted, reduction="sum").div(32).backward()
        if i % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
