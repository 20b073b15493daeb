"""Deep Q-learning on a short corridor."""

import random
from collections import deque

import torch
from torch import nn

random.seed(36)
torch.manual_seed(36)
N = 7


def step_env(s, a):
    s2 = min(N - 1, max(0, s + (1 if a else -1)))
    return s2, float(s2 == N - 1), s2 == N - 1


def one_hot(states):
    return torch.eye(N)[torch.tensor(states)]


q_net = nn.Sequential(nn.Linear(N, 32), nn.ReLU(), nn.Linear(32, 2))
target_net = nn.Sequential(nn.Linear(N, 32), nn.ReLU(), nn.Linear(32, 2))
target_net.load_state_dict(q_net.state_dict())
optimizer = torch.optim.Adam(q_net.parameters(), lr=5e-3)
memory = deque(maxlen=500)
state = 0
for t in range(200):
    if random.random() < 0.3:
        action = random.randrange(2)
    else:
        with torch.no_grad():
            action = int(q_net(one_hot([state])).argmax())
    nxt, reward, done = step_env(state, action)
    memory.append((state, action, reward, nxt, done))
    state = 0 if done else nxt
    if len(memory) < 32:
        continue
    s, a, r, s2, d = zip(*random.sample(memory, 32))
    q = q_net(one_hot(s)).gather(1, torch.tensor(a).unsqueeze(1))
    with torch.no_grad():
        nq = target_net(one_hot(s2)).max(1).values
    target = torch.tensor(r) + 0.95 * nq * (1 - torch.tensor(d).float())
    loss = ((q.squeeze(1) - target) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if t % 25 == 0:
        target_net.load_state_dict(q_net.state_dict())
print("loss", loss.item())
