"""Small steps, but downwards; a short run; a loss that has arrived at zero."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 4)
y = (x[:, 0] > 0).long()
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=2e-3)
for _ in range(60):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

margin = nn.Linear(4, 1)
optimizer = torch.optim.SGD(margin.parameters(), lr=0.5)
sign = torch.where(y > 0, 1.0, -1.0)
for _ in range(40):
    hinge = torch.relu(0.1 - margin(x).squeeze(1) * sign).mean()
    optimizer.zero_grad()
    hinge.backward()
    optimizer.step()
print(loss.item(), hinge.item())
