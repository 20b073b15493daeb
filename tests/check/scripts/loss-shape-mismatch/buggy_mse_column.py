"""The classic: a column of predictions and a row of targets in MSELoss."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(-1, 1, 64).unsqueeze(1)
y = torch.sin(3 * x).squeeze()
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(10):
    optimizer.zero_grad()
    loss = criterion(model(x), y)  # <- finding
    loss.backward()
    optimizer.step()
print(loss.item())
