"""Areas of thousands of square metres beside years: the first steps throw all units below zero."""

import torch
from torch import nn

torch.manual_seed(0)
area, floors = 20000 + 15000 * torch.rand(64), torch.randint(1, 30, (64,)).float()
x = torch.stack([area, floors], dim=1)
y = area / 10000 + 0.05 * floors
model = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)  # <- finding
for epoch in range(20):
    loss = nn.functional.l1_loss(model(x).squeeze(1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
