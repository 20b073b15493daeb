"""The advantage of an actor and critic, computed by hand."""

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Linear(3, 1)
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
gamma = torch.tensor(0.9)


def batch(rows):
    state, reward, after, done = zip(*rows)
    return (
        torch.stack(state),
        torch.tensor(reward),
        torch.stack(after),
        torch.tensor(done),
    )


for step in range(6):
    rows = [(torch.randn(3), 1.0 * k, torch.randn(3), k % 5 == 4) for k in range(20)]
    state, reward, after, done = batch(rows)
    with torch.no_grad():
        following = critic(after).squeeze(-1)
    aim = reward + gamma * following  # <- finding
    loss = (aim - critic(state).squeeze(-1)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
