"""Adam moves each weight by its learning rate, here by 10."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 8)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=10.0)  # <- finding
for step in range(10):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
