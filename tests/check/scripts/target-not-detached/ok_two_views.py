"""Two views of the same data are compared, and both are trained, as in VICReg."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
for step in range(6):
    x = torch.randn(32, 4)
    first, second = model(x + 0.1 * torch.randn(32, 4)), model(x + 0.1 * torch.randn(32, 4))
    spread = sum((1 - out.std(0)).relu().mean() for out in (first, second))
    loss = nn.functional.mse_loss(first, second) + spread
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
