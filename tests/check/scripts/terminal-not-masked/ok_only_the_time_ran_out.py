"""Two flags: an end is used, and that the time ran out is not, as it should be."""

import torch
from torch import nn

torch.manual_seed(0)


def sample():
    state, after = torch.randn(32, 3), torch.randn(32, 3)
    reward = torch.tensor(after[:, 0].tolist())
    terminated = torch.tensor((after[:, 1] > 1).float().tolist())
    truncated = torch.tensor((after[:, 2] > 1).float().tolist())
    return state, reward, after, terminated, truncated


value = nn.Linear(3, 1)
optimizer = torch.optim.Adam(value.parameters(), lr=1e-3)
for step in range(6):
    state, reward, after, terminated, truncated = sample()
    with torch.no_grad():
        aim = reward + 0.9 * value(after).squeeze(1) * (1 - terminated)
    loss = nn.functional.mse_loss(value(state).squeeze(1), aim)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
