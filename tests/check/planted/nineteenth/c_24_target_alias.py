"""DQN on a chain of states, everything by hand."""
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F


class Chain:
    def __init__(self, n=8):
        self.n = n

    def reset(self):
        self.s, self.t = 0, 0
        return self.obs()

    def obs(self):
        return F.one_hot(torch.tensor(self.s), self.n).float()

    def step(self, a):
        self.s = min(self.n - 1, self.s + 1) if a == 1 else max(0, self.s - 1)
        self.t += 1
        done = self.s == self.n - 1 or self.t >= 20
        return self.obs(), float(self.s == self.n - 1), done


class QNet(nn.Module):
    def __init__(self, n, actions=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n, 24), nn.ReLU(), nn.Linear(24, actions))

    def forward(self, s):
        return self.net(s)


class Agent:
    def __init__(self, n, gamma=0.95, lr=2e-3):
        self.q = QNet(n)
        self.target = self.q  # BUG param-shared
        self.gamma = gamma
        self.opt = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.memory = deque(maxlen=500)

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return int(self.q(s).argmax())

    def learn(self, batch=32):
        s, a, r, s2, d = zip(*random.sample(self.memory, batch))
        s, s2 = torch.stack(s), torch.stack(s2)
        a, r, d = torch.tensor(a), torch.tensor(r), torch.tensor(d, dtype=torch.float32)
        with torch.no_grad():
            target = r + self.gamma * (1 - d) * self.target(s2).max(1).values
        q = self.q(s).gather(1, a[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, target)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def sync(self):
        self.target.load_state_dict(self.q.state_dict())  # BUG param-shared


random.seed(0)
torch.manual_seed(0)
env, agent = Chain(), Agent(8)
total = 0
for episode in range(25):
    s, done = env.reset(), False
    while not done:
        a = agent.act(s, max(0.1, 1 - episode / 15))
        s2, r, done = env.step(a)
        agent.memory.append((s, a, r, s2, done))
        s = s2
        total += 1
        if len(agent.memory) >= 64:
            loss = agent.learn()
        if total % 50 == 0:
            agent.sync()
print(total, loss)
