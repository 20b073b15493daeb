"""BCELoss on the output of a linear layer."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
criterion = nn.BCELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(20, 3)
y = (x[:, :1] > 0).float()
for _ in range(5):
    optimizer.zero_grad()
    loss = criterion(model(x), y)  # <- finding
    loss.backward()
    optimizer.step()
