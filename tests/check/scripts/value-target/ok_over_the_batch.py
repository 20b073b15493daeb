"""Fitted Q-iteration from a fixed set of transitions."""
import copy

import torch
from torch import nn


def collect(n):
    s = torch.rand(n, 2) * 2 - 1
    a = torch.randint(0, 3, (n,))
    move = torch.tensor([[-0.3, 0.0], [0.3, 0.0], [0.0, 0.3]])[a]
    s2 = (s + move).clamp(-1, 1)
    done = s2[:, 0] > 0.9
    return s, a, done.float(), s2, done.float()


class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 32), nn.Linear(32, 3)

    def forward(self, s):
        return self.b(self.a(s).relu())


def bellman(target, reward, nxt, done, gamma=0.9):
    with torch.no_grad():
        best = target(nxt).max(1).values
        return reward + gamma * (1 - done) * best


def main():
    torch.manual_seed(15)
    data = collect(1000)
    q = Q()
    target = copy.deepcopy(q)
    opt = torch.optim.Adam(q.parameters(), lr=3e-3)
    for sweep in range(10):
        for idx in torch.randperm(1000).split(100):
            s, a, r, s2, d = (v[idx] for v in data)
            value = q(s).gather(1, a[:, None])[:, 0]
            loss = nn.functional.mse_loss(value, bellman(target, r, s2, d))
            opt.zero_grad()
            loss.backward()
            opt.step()
        target.load_state_dict(q.state_dict())
        print(sweep, loss.item())


main()
