from collections import deque
import random

import numpy as np
import torch
from torch import nn


class PointEnv:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.state = np.zeros(2, dtype=np.float32)

    def reset(self):
        self.state[:] = self.rng.uniform(-1, 1, 2)
        return self.state

    def step(self, action):
        self.state += 0.1 * action
        self.state += 0.01 * self.rng.normal(size=2).astype(np.float32)
        return self.state, -float((self.state ** 2).sum())


random.seed(0)
torch.manual_seed(0)
env = PointEnv(0)
replay = deque(maxlen=1000)
for episode in range(20):
    obs = env.reset()
    for t in range(15):
        act = env.rng.uniform(-1, 1, 2).astype(np.float32)
        prev = obs.copy()
        obs, reward = env.step(act)
        replay.append((prev, act, obs.copy()))

dynamics = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
opt = torch.optim.Adam(dynamics.parameters(), lr=5e-3)
for it in range(150):
    s, a, s2 = (torch.from_numpy(np.stack(z)) for z in zip(*random.sample(replay, 64)))
    loss = nn.functional.mse_loss(dynamics(torch.cat([s, a], 1)), s2)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 49:
        print(f"it {it + 1} model loss {loss.item():.5f}")
all_s = np.stack([r[0] for r in replay])
print("distinct stored states", len(np.unique(all_s, axis=0)), "of", len(replay))
