"""Q-learning on a corridor with a bounded replay buffer and a target network."""
import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)
CELLS = 6


class Corridor:
    def reset(self):
        self.at, self.t = random.randrange(CELLS - 1), 0
        return self.at

    def step(self, action):
        self.at = max(0, self.at - 1) if action == 0 else min(CELLS - 1, self.at + 1)
        self.t += 1
        done = self.at == CELLS - 1
        return self.at, 1.0 if done else -0.05, done, self.t >= 20


def encode(cells):
    return F.one_hot(torch.as_tensor(cells), CELLS).float()


q = nn.Sequential(nn.Linear(CELLS, 24), nn.Tanh(), nn.Linear(24, 2))
target = copy.deepcopy(q).requires_grad_(False)
opt = torch.optim.Adam(q.parameters(), lr=5e-3)
buffer = deque(maxlen=500)
env = Corridor()
state = env.reset()

for step in range(400):
    epsilon = max(0.1, 1 - step / 200)
    if random.random() < epsilon:
        action = random.randrange(2)
    else:
        with torch.no_grad():
            action = q(encode([state])).argmax(1).item()
    nxt, reward, done, timeout = env.step(action)
    buffer.append((state, action, reward, nxt, float(done)))
    state = env.reset() if done or timeout else nxt
    if len(buffer) < 64 or step % 2:
        continue
    s, a, r, n, d = zip(*random.sample(buffer, 32))
    with torch.no_grad():
        best = target(encode(n)).max(1).values
        goal = torch.tensor(r) + 0.9 * (1 - torch.tensor(d)) * best
    value = q(encode(s)).gather(1, torch.tensor(a)[:, None]).squeeze(1)
    loss = F.smooth_l1_loss(value, goal)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        target.load_state_dict(q.state_dict())

with torch.no_grad():
    print("greedy actions", q(encode(list(range(CELLS - 1)))).argmax(1).tolist())
