"""Tiny DQN with a replay buffer."""
import random
from collections import deque

import torch
from torch import nn
import torch.nn.functional as F


class Chain:
    n = 8

    def reset(self):
        self.s, self.t = 0, 0
        return self.s

    def step(self, a):
        self.s = min(self.s + 1, self.n - 1) if a == 1 else 0
        self.t += 1
        return self.s, float(self.s == self.n - 1), self.t >= 16


def encode(states):
    return F.one_hot(torch.tensor(states), Chain.n).float()


class Agent:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(Chain.n, 32), nn.ReLU(), nn.Linear(32, 2))
        self.opt = torch.optim.Adam(self.q.parameters(), lr=2e-3)
        self.memory = deque(maxlen=1000)

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return self.q(encode([s])).argmax().item()

    def target(self, reward, nxt, done, gamma=0.9):
        return reward + gamma * (1 - done) * self.q(nxt).max(dim=1).values  # BUG target-not-detached

    def learn(self, batch_size=32):
        s, a, r, n, d = zip(*random.sample(self.memory, batch_size))
        q = self.q(encode(s)).gather(1, torch.tensor(a).unsqueeze(1)).squeeze(1)
        loss = F.smooth_l1_loss(q, self.target(torch.tensor(r), encode(n), torch.tensor(d)))  # BUG target-not-detached
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


random.seed(0)
torch.manual_seed(0)
agent, env = Agent(), Chain()
for episode in range(25):
    s, done, total, loss = env.reset(), False, 0.0, 0.0
    while not done:
        a = agent.act(s, eps=max(0.1, 1 - episode / 12))
        n, r, done = env.step(a)
        agent.memory.append((s, a, r, n, float(done)))
        s, total = n, total + r
        if len(agent.memory) >= 64:
            loss = agent.learn()
    if episode % 6 == 0:
        print(episode, total, round(loss, 4))
