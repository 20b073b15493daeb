import torch
from torch import nn
import random
from collections import deque

torch.manual_seed(0)
random.seed(0)
N, GAMMA = 8, 0.9


def env_step(s, a):
    s2 = min(s + 1, N - 1) if a == 1 else max(s - 1, 0)
    if random.random() < 0.3:
        s2 = random.randrange(N)
    done = s2 == N - 1
    return s2, (1.0 if done else 0.0), done


def onehot(states):
    return nn.functional.one_hot(torch.tensor(states), N).float()


qnet = nn.Sequential(nn.Linear(N, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(qnet.parameters(), lr=5e-3)
memory = deque(maxlen=2000)


def learn(batch):
    s, a, r, s2, d = zip(*batch)
    q = qnet(onehot(s)).gather(1, torch.tensor(a).unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        next_q = qnet(onehot(s2)).max(1).values
    target = torch.tensor(r) + GAMMA * next_q * (1 - torch.tensor(d, dtype=torch.float))
    loss = nn.functional.mse_loss(q, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


state = 0
for t in range(500):
    action = random.randrange(2)
    nxt, rew, done = env_step(state, action)
    memory.append((state, action, rew, nxt, done))
    state = 0 if done else nxt
    if len(memory) >= 64:
        loss = learn(random.sample(memory, 32))
    if t % 100 == 99:
        print(f"t {t + 1} loss {loss:.4f}")
with torch.no_grad():
    print("V:", [round(v, 2) for v in qnet(onehot(list(range(N)))).max(1).values.tolist()])
