"""A training loop that never clears the gradients."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(32, 4), torch.randn(32, 1)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()  # <- finding
    optimizer.step()
print(loss.item())
