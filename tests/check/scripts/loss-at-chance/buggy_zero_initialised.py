"""Both layers start at zero: no gradient gets through them except to the last bias, whose best value is zero, too."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
for parameter in model.parameters():
    nn.init.zeros_(parameter)  # <- finding
x = torch.randn(40, 6)
y = torch.arange(40) % 2
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(60):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
