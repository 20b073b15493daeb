"""An ordinary ReLU network: each unit is off for some inputs, a few for all."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(inplace=True), nn.Linear(32, 1))
with torch.no_grad():
    model[0].bias[:6] = -20
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(64, 4)
y = x.prod(dim=1, keepdim=True)
for step in range(10):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
