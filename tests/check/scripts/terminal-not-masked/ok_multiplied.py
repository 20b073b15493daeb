"""The flags are used: multiplied, or the values of the last states are set to zero."""

import torch
from torch import nn

torch.manual_seed(0)


def sample():
    state, after = torch.randn(32, 3), torch.randn(32, 3)
    action = torch.randint(0, 2, (32,))
    reward = torch.tensor(after[:, 0].tolist())
    done = torch.tensor((after[:, 1] > 1).float().tolist())
    return state, action, reward, after, done


q, target = nn.Linear(3, 2), nn.Linear(3, 2)
optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)
for step in range(6):
    state, action, reward, after, done = sample()
    with torch.no_grad():
        if step % 2:
            aim = reward + 0.9 * (1 - done) * target(after).max(1).values
        else:
            following = target(after).max(1).values
            following[done.bool()] = 0.0
            aim = reward + 0.9 * following
    loss = nn.functional.mse_loss(q(state).gather(1, action[:, None]).squeeze(1), aim)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
