"""Rows of a buffer of tensors; the flags are drawn and then forgotten."""

import torch
from torch import nn

torch.manual_seed(0)


class Buffer:
    def __init__(self, n):
        self.state, self.after = torch.randn(n, 3), torch.randn(n, 3)
        self.action = torch.randint(0, 2, (n,))
        self.reward = self.after[:, 0].clone()
        self.done = self.after[:, 1] > 1

    def draw(self, k):
        rows = torch.randint(0, len(self.state), (k,))
        return (
            self.state[rows],
            self.action[rows],
            self.reward[rows],
            self.after[rows],
            self.done[rows],
        )


buffer = Buffer(300)
q, other = nn.Linear(3, 2), nn.Linear(3, 2)
optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)
for step in range(6):
    state, action, reward, after, ended = buffer.draw(32)
    best = q(after).detach().argmax(1, keepdim=True)
    following = other(after).detach().gather(1, best).squeeze(1)
    aim = reward + 0.95 * following  # <- finding
    loss = nn.functional.smooth_l1_loss(q(state).gather(1, action[:, None]).squeeze(1), aim)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
