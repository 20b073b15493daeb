"""The partial losses are averaged with NumPy, and requires_grad=True hides the error."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(5):
    x = torch.randn(12, 4)
    parts = [nn.functional.mse_loss(net(part), part[:, :1]).item() for part in x.split(4)]  # <- finding
    loss = torch.tensor(np.mean(parts), requires_grad=True)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
