"""Three layers with sigmoids, and a frozen deep network in front."""

import torch
from torch import nn

torch.manual_seed(0)
front = nn.Sequential(*[m for _ in range(8) for m in (nn.Linear(5, 5), nn.Sigmoid())]).requires_grad_(False)
model = nn.Sequential(nn.Linear(5, 16), nn.Sigmoid(), nn.Linear(16, 16), nn.Sigmoid(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
x = torch.randn(40, 5)
y = torch.sin(x[:, :1])
for step in range(6):
    loss = nn.functional.mse_loss(model(x + front(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
