import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(54)
random.seed(54)
N = 8


def env_step(s, a):
    s = max(0, min(N - 1, s + (1 if a else -1)))
    return s, float(s == N - 1), s == N - 1


def one_hot(s):
    return F.one_hot(torch.as_tensor(s), N).float()


q = nn.Sequential(nn.Linear(N, 32), nn.ReLU(), nn.Linear(32, 2))
q_target = copy.deepcopy(q)
optimizer = torch.optim.Adam(q.parameters(), lr=3e-3)
memory, s = [], 0
for step in range(600):
    a = random.randint(0, 1)
    s2, r, done = env_step(s, a)
    memory.append((s, a, r, s2, float(done)))
    s = 0 if done or random.random() < 0.05 else s2
    if len(memory) < 64:
        continue
    ss, aa, rr, s2s, dd = zip(*random.sample(memory, 64))
    value = q(one_hot(ss)).gather(1, torch.tensor(aa).unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        nxt = q_target(one_hot(s2s)).max()  # BUG value-target
        target = torch.tensor(rr) + 0.9 * (1 - torch.tensor(dd)) * nxt
    loss = F.smooth_l1_loss(value, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        q_target.load_state_dict(q.state_dict())
print(loss.item(), q(torch.eye(N)).max(1).values.tolist())
