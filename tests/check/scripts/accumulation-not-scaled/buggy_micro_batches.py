"""Micro-batches come from an iterator, three for each step."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(180, 4)
y = x @ torch.randn(4, 1) + 0.1 * torch.randn(180, 1)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    batches = iter(DataLoader(TensorDataset(x, y), batch_size=10, shuffle=True))
    for step in range(6):
        optimizer.zero_grad()
        for micro in range(3):
            inputs, wanted = next(batches)
            loss = ((model(inputs) - wanted) ** 2).mean()
            loss.backward()  # <- finding
        optimizer.step()
    print(epoch, loss.item())
