"""The target adds the value of the next state also where the episode has ended."""

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
target.load_state_dict(q.state_dict())
optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)
for step in range(6):
    state, action, reward, after, done = sample()
    with torch.no_grad():
        aim = reward + 0.9 * target(after).max(1).values  # <- finding
    loss = nn.functional.mse_loss(q(state).gather(1, action[:, None]).squeeze(1), aim)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
