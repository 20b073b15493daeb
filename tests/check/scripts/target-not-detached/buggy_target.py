"""The target is computed with gradients, by the network that is trained."""

import torch
from torch import nn

torch.manual_seed(0)
value = nn.Linear(3, 1)
optimizer = torch.optim.Adam(value.parameters(), lr=1e-3)
for step in range(6):
    state, after, reward = torch.randn(32, 3), torch.randn(32, 3), torch.randn(32)
    target = reward + 0.9 * value(after).squeeze(1)  # <- finding
    loss = nn.functional.mse_loss(value(state).squeeze(1), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
