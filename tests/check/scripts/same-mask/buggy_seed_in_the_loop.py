"""The seed is set at the beginning of every step: dropout removes the same units each time."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.linspace(-1, 1, 96).view(16, 6)
y = x.pow(2).sum(dim=1, keepdim=True)
for step in range(6):
    torch.manual_seed(42)  # <- finding
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
