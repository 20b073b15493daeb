import random

import numpy as np
import torch
from torch import nn


class Env:
    def __init__(self):
        self.state = np.zeros(2, dtype=np.float32)

    def step(self, action):
        self.state += np.float32(0.1 if action else -0.1) + 0.05 * np.random.randn(2).astype(np.float32)
        return self.state, -float(np.abs(self.state).sum())


random.seed(1), np.random.seed(1), torch.manual_seed(43)
env = Env()
q = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.Adam(q.parameters(), lr=3e-3)
buffer, state = [], env.state.copy()
for t in range(200):
    action = random.randrange(2)
    nxt, reward = env.step(action)
    buffer.append((state, action, reward, nxt))  # <- finding
    state = nxt
    if t >= 50:
        s, a, r, n = zip(*random.sample(buffer, 32))
        s, n = torch.from_numpy(np.stack(s)), torch.from_numpy(np.stack(n))
        with torch.no_grad():
            goal = torch.tensor(r) + 0.9 * q(n).max(1).values
        loss = nn.functional.mse_loss(q(s).gather(1, torch.tensor(a)[:, None]).squeeze(1), goal)
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
