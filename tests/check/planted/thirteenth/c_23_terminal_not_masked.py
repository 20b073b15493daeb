import random

import torch
import torch.nn as nn


class Chain:
    """Five cells; the episode ends in the right-most cell with reward 1."""

    n = 5

    def reset(self):
        self.cell = 0
        return self.cell

    def step(self, action):
        self.cell = min(self.n - 1, max(0, self.cell + (1 if action else -1)))
        done = self.cell == self.n - 1
        return self.cell, 1.0 if done else 0.0, done


class ReplayBuffer:
    def __init__(self):
        self.rows = []

    def push(self, *row):
        self.rows.append(row)

    def sample(self, k):
        s, a, r, s2, d = zip(*random.sample(self.rows, k))
        eye = torch.eye(Chain.n)
        return eye[list(s)], torch.tensor(a), torch.tensor(r), eye[list(s2)], torch.tensor(d, dtype=torch.float32)


def collect(buffer, steps):
    env = Chain()
    s = env.reset()
    for _ in range(steps):
        a = random.randint(0, 1)
        s2, r, done = env.step(a)
        buffer.push(s, a, r, s2, done)
        s = env.reset() if done else s2


def main(gamma=0.9, updates=800, sync=25):
    random.seed(3)
    torch.manual_seed(3)
    q_net, target_net = (nn.Sequential(nn.Linear(Chain.n, 24), nn.ReLU(), nn.Linear(24, 2)) for _ in range(2))
    target_net.load_state_dict(q_net.state_dict())
    optim = torch.optim.Adam(q_net.parameters(), lr=5e-3)
    buffer = ReplayBuffer()
    collect(buffer, 1500)
    for update in range(1, updates + 1):
        s, a, r, s2, done = buffer.sample(64)
        with torch.no_grad():
            best_next = target_net(s2).max(1)[0]  # BUG terminal-not-masked
            y = r + gamma * best_next  # BUG terminal-not-masked
        q = q_net(s).gather(1, a[:, None])[:, 0]
        loss = nn.functional.mse_loss(q, y)
        optim.zero_grad()
        loss.backward()
        optim.step()
        if update % sync == 0:
            target_net.load_state_dict(q_net.state_dict())
        if update % 200 == 0:
            with torch.no_grad():
                values = q_net(torch.eye(Chain.n)[:-1]).max(1)[0]
            exact = torch.tensor([gamma**3, gamma**2, gamma, 1.0])
            print(f"update {update} loss {loss.item():.4f} value error {(values - exact).abs().mean().item():.4f}")


main()
