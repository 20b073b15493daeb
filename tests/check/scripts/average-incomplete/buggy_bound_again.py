"""The mixture is bound to the variable of the loop: the target network stays as it was."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
value = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
target = copy.deepcopy(value)
optimizer = torch.optim.Adam(value.parameters(), lr=0.01)
for step in range(12):
    states = torch.randn(16, 3)
    with torch.no_grad():
        wanted = states[:, :1] + 0.9 * target(states + 0.1)
    loss = nn.functional.mse_loss(value(states), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for old, new in zip(target.parameters(), value.parameters()):
        old = 0.98 * old.data + 0.02 * new.data  # <- finding
print(loss.item())
