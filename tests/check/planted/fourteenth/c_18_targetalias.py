import copy
import random
from collections import deque
import torch
import torch.nn as nn
import torch.nn.functional as F


class Chain:
    """Walk right along a chain of states; reward only at the far end."""

    def __init__(self, n=8, horizon=20):
        self.n, self.horizon = n, horizon

    def reset(self):
        self.s, self.t = 0, 0
        return self.obs()

    def obs(self):
        o = torch.zeros(self.n)
        o[self.s] = 1
        return o

    def step(self, a):
        self.t += 1
        self.s = min(self.s + 1, self.n - 1) if a == 1 else max(self.s - 1, 0)
        done = self.s == self.n - 1
        return self.obs(), 1.0 if done else 0.0, done, self.t >= self.horizon


class Agent:
    def __init__(self, n, gamma=0.95, lr=5e-3, sync=50):
        self.online = nn.Sequential(nn.Linear(n, 32), nn.ReLU(), nn.Linear(32, 2))
        self.target = self.online  # BUG param-shared
        self.opt = torch.optim.Adam(self.online.parameters(), lr=lr)
        self.gamma, self.sync, self.updates = gamma, sync, 0
        self.lag = 0.0

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return int(self.online(s).argmax())

    def update(self, batch):
        s, a, r, s2, d = batch
        with torch.no_grad():
            q2 = self.target(s2).max(1).values
            y = r + self.gamma * (1 - d) * q2
            self.lag = max(self.lag, (self.online(s2).max(1).values - q2).abs().max().item())
        q = self.online(s).gather(1, a[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.updates += 1
        if self.updates % self.sync == 0:
            self.target.load_state_dict(self.online.state_dict())
        return loss.item()


def main():
    random.seed(0)
    torch.manual_seed(0)
    env, buf = Chain(), deque(maxlen=2000)
    agent = Agent(env.n)
    returns = []
    for ep in range(60):
        s, total, end = env.reset(), 0.0, False
        while not end:
            a = agent.act(s, max(0.1, 1 - ep / 30))
            s2, r, done, trunc = env.step(a)
            buf.append((s, a, r, s2, float(done)))
            s, total, end = s2, total + r, done or trunc
            if len(buf) >= 64:
                S, A, R, S2, D = zip(*random.sample(buf, 32))
                agent.update((torch.stack(S), torch.tensor(A), torch.tensor(R), torch.stack(S2), torch.tensor(D)))
        returns.append(total)
    print("final mean return", sum(returns[-20:]) / 20, "max target lag %.3f" % agent.lag)


main()
