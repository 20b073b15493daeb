"""Both are columns."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(32, 4)
y = (x**2).sum(dim=1, keepdim=True)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(5):
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
