"""The error of a critic, squared, with a next value that has a graph."""

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(critic.parameters(), lr=1e-2)
for step in range(6):
    state, after, reward = torch.randn(32, 3), torch.randn(32, 3), torch.randn(32, 1)
    done = (torch.rand(32, 1) < 0.1).float()
    aim = reward + 0.95 * (1 - done) * critic(after)  # <- finding
    error = aim - critic(state)
    loss = (error**2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
