"""Deep Q-learning with a target network on a grid line."""
import copy
import random
from collections import deque

import torch
from torch import nn
from torch.nn import functional as F


class Line:
    def reset(self):
        self.at, self.t = 3, 0
        return self.state()

    def state(self):
        s = torch.zeros(7)
        s[self.at] = 1
        return s

    def step(self, action):
        self.at = max(0, min(6, self.at + 2 * action - 1))
        self.t += 1
        reached = self.at == 6
        return self.state(), float(reached), reached or self.t >= 15


class Agent:
    def __init__(self, gamma=0.9, sync_every=1000):
        self.q = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 2))
        self.target = copy.deepcopy(self.q).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=5e-3)
        self.gamma, self.sync_every, self.updates = gamma, sync_every, 0

    def act(self, state, epsilon):
        if random.random() < epsilon:
            return random.randrange(2)
        with torch.no_grad():
            return self.q(state).argmax().item()

    def learn(self, batch):
        s, a, r, n, d = (torch.stack([torch.as_tensor(b[k], dtype=torch.float32) for b in batch]) for k in range(5))
        with torch.no_grad():
            goal = r + self.gamma * (1 - d) * self.target(n).max(1).values
        value = self.q(s).gather(1, a.long().unsqueeze(1)).squeeze(1)
        loss = F.smooth_l1_loss(value, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % self.sync_every == 0:  # <- finding
            self.target.load_state_dict(self.q.state_dict())


def main():
    torch.manual_seed(21)
    random.seed(21)
    env, agent, memory = Line(), Agent(), deque(maxlen=500)
    for episode in range(25):
        state, done = env.reset(), False
        while not done:
            action = agent.act(state, max(0.1, 1 - episode / 15))
            following, reward, done = env.step(action)
            memory.append((state, action, reward, following, float(done and reward > 0)))
            state = following
            if len(memory) >= 32:
                agent.learn(random.sample(memory, 32))
    print("updates", agent.updates)


main()
