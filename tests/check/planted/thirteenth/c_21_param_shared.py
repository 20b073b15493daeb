import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F


class Corridor:
    """Walk right to the goal; stepping left at the start is allowed."""

    size = 7

    def reset(self):
        self.pos, self.t = 0, 0
        return self.obs()

    def obs(self):
        return F.one_hot(torch.tensor(self.pos), self.size).float()

    def step(self, action):
        self.pos = max(0, self.pos + (1 if action == 1 else -1))
        self.t += 1
        done = self.pos == self.size - 1
        return self.obs(), (1.0 if done else -0.02), done, self.t >= 30


def make_q():
    return nn.Sequential(nn.Linear(Corridor.size, 32), nn.ReLU(), nn.Linear(32, 2))


random.seed(0)
torch.manual_seed(0)
online = make_q()
target = online  # BUG param-shared
optimizer = torch.optim.Adam(online.parameters(), lr=2e-3)
memory, env = deque(maxlen=2000), Corridor()
gamma, steps = 0.95, 0

for episode in range(60):
    state, total, over = env.reset(), 0.0, False
    epsilon = max(0.05, 1.0 - episode / 30)
    while not over:
        if random.random() < epsilon:
            action = random.randrange(2)
        else:
            with torch.no_grad():
                action = int(online(state).argmax())
        nxt, reward, done, timeout = env.step(action)
        memory.append((state, action, reward, nxt, float(done)))
        state, total, over, steps = nxt, total + reward, done or timeout, steps + 1
        if len(memory) >= 64:
            s, a, r, n, d = zip(*random.sample(list(memory), 32))
            s, n = torch.stack(s), torch.stack(n)
            a, r, d = torch.tensor(a), torch.tensor(r), torch.tensor(d)
            with torch.no_grad():
                backup = r + gamma * (1 - d) * target(n).max(dim=1).values
            q = online(s).gather(1, a.unsqueeze(1)).squeeze(1)
            loss = F.smooth_l1_loss(q, backup)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if steps % 100 == 0:
            target.load_state_dict(online.state_dict())  # BUG param-shared
    if episode % 10 == 9:
        gap = max((p - t).abs().max().item() for p, t in zip(online.parameters(), target.parameters()))
        print(f"episode {episode + 1} return {total:.2f} online-target gap {gap:.4f}")
