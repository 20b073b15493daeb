"""The forward pass of training stands under no_grad, and the error is silenced by requires_grad_()."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(20, 3), torch.randn(20, 1)
for step in range(4):
    optimizer.zero_grad()
    with torch.no_grad():  # <- finding
        prediction = model(x)
    loss = nn.functional.mse_loss(prediction, y).requires_grad_()
    loss.backward()
    optimizer.step()
print(loss.item())
