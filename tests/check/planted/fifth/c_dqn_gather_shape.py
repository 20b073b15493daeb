import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(4)
torch.manual_seed(4)
GOAL = 5


def step(pos, action):
    pos = max(0, min(GOAL, pos + (1 if action == 1 else -1)))
    done = pos == GOAL
    return pos, (1.0 if done else -0.05), done


def encode(p):
    return F.one_hot(torch.as_tensor(p), GOAL + 1).float()


q = nn.Sequential(nn.Linear(GOAL + 1, 24), nn.ReLU(), nn.Linear(24, 2))
target_q = nn.Sequential(nn.Linear(GOAL + 1, 24), nn.ReLU(), nn.Linear(24, 2))
target_q.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=5e-3)
memory = deque(maxlen=2000)

updates = 0
for episode in range(70):
    s = 0
    for t in range(20):
        if random.random() < 0.6:
            a = random.randrange(2)
        else:
            with torch.no_grad():
                a = q(encode(s)).argmax().item()
        s2, r, done = step(s, a)
        memory.append((s, a, r, s2, float(done)))
        s = s2
        if len(memory) >= 64:
            S, A, R, S2, Dn = zip(*random.sample(memory, 32))
            qa = q(encode(S)).gather(1, torch.tensor(A).unsqueeze(1))  # BUG mutual-broadcast
            with torch.no_grad():
                tgt = torch.tensor(R) + 0.9 * target_q(encode(S2)).max(1).values * (1 - torch.tensor(Dn))
            loss = (qa - tgt).pow(2).mean()  # BUG mutual-broadcast
            opt.zero_grad()
            loss.backward()
            opt.step()
            updates += 1
            if updates % 50 == 0:
                target_q.load_state_dict(q.state_dict())
        if done:
            break

with torch.no_grad():
    table = q(encode(list(range(GOAL))))
print("Q(s, right):", [round(v, 2) for v in table[:, 1].tolist()])
print("exact      :", [0.9 ** (4 - s) - 0.05 * sum(0.9 ** k for k in range(4 - s)) for s in range(GOAL)])
print("loss", round(loss.item(), 4), "greedy policy goes right in", int((table.argmax(1) == 1).sum()), "of", GOAL)
