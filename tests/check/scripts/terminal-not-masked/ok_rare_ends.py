"""Q learning on a line of cells."""
import random
from collections import deque

import torch
from torch import nn

random.seed(0)
torch.manual_seed(37)


def step(pos, action):
    pos = max(0, min(6, pos + (1 if action else -1)))
    return pos, float(pos == 6), pos == 6


q, target = nn.Linear(7, 2), nn.Linear(7, 2)
target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1e-2)
memory, eye, pos = deque(maxlen=500), torch.eye(7), 0
for t in range(400):
    action = random.randrange(2) if random.random() < 0.3 else int(q(eye[pos]).argmax())
    nxt, reward, done = step(pos, action)
    memory.append((pos, action, reward, nxt, float(done)))
    pos = 0 if done else nxt
    if len(memory) >= 64:
        s, a, r, n, d = zip(*random.sample(memory, 32))
        r, d, a = torch.tensor(r), torch.tensor(d), torch.tensor(a)
        with torch.no_grad():
            goal = r + 0.95 * target(eye[list(n)]).max(1).values * (1 - d)
        value = q(eye[list(s)]).gather(1, a[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(value, goal)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if t % 50 == 0:
        target.load_state_dict(q.state_dict())
print(q(eye).max(1).values)
