"""A deep plain network as the layers make it: its first gradients are small, and it learns all the same."""

import torch
from torch import nn

torch.manual_seed(0)
layers = [nn.Linear(2, 32), nn.Tanh()]
for _ in range(9):
    layers += [nn.Linear(32, 32), nn.Tanh()]
model = nn.Sequential(*layers, nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
x = torch.randn(128, 2)
y = x[:, :1] * 2
for step in range(80):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
