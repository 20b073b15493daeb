"""Deep Q-learning on a random chain, with the loss by hand."""

import torch
from torch import nn


class Q(nn.Module):
    def __init__(self, states=6, actions=2):
        super().__init__()
        self.table = nn.Sequential(nn.Linear(states, 32), nn.Tanh(), nn.Linear(32, actions))

    def forward(self, s):
        return self.table(s)


def huber(error, delta=1.0):
    a = error.abs()
    return torch.where(a < delta, 0.5 * a * a, delta * (a - 0.5 * delta)).mean()


torch.manual_seed(0)
q = Q()
opt = torch.optim.Adam(q.parameters(), lr=1e-2)
eye = torch.eye(6)
for step in range(60):
    s = torch.randint(0, 6, (32,))
    a = torch.randint(0, 2, (32, 1))
    nxt = (s + 2 * a[:, 0] - 1).clamp(0, 5)
    reward = (nxt == 5).float()
    with torch.no_grad():
        target = reward + 0.9 * q(eye[nxt]).max(1).values * (nxt != 5)
    value = q(eye[s]).gather(1, a)
    loss = huber(value.squeeze(1) - target)
    opt.zero_grad()
    loss.backward()
    opt.step()
values = q(eye).max(1).values.detach()
print("values", [round(v, 2) for v in values.tolist()])
