"""A term without a graph that only scales what is learned: the better the other loss, the larger the step."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(96, 4)
y = x[:, :1] - x[:, 1:2]
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for rows in torch.arange(96).repeat(3).split(24):
    with torch.no_grad():
        other = nn.functional.mse_loss(model(x[:8]), y[:8])
    loss = nn.functional.mse_loss(model(x[rows]), y[rows]) / (1 + other)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
