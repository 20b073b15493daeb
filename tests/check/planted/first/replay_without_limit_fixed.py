"""Q-learning on a random walk with a replay buffer and a target network."""
import copy
import random
import torch
import torch.nn as nn


class Replay:
    def __init__(self, capacity=500):
        self.capacity = capacity
        self.data = []

    def push(self, *transition):
        if len(self.data) >= self.capacity:
            self.data.pop(0)
        self.data.append(transition)

    def sample(self, n):
        cols = zip(*random.sample(self.data, n))
        return [torch.stack(c) for c in cols]


def env_step(s, a):
    nxt = (s + (1.0 if a == 1 else -1.0) * 0.1 + 0.02 * torch.randn(4)).clamp(-1, 1)
    return nxt, -nxt.abs().mean()


random.seed(0)
torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
target = copy.deepcopy(q).requires_grad_(False)
opt = torch.optim.Adam(q.parameters(), lr=3e-3)
buf = Replay()
s, rewards = torch.rand(4) * 2 - 1, []
for t in range(1800):
    with torch.no_grad():
        a = int(q(s).argmax()) if random.random() > 0.2 else random.randrange(2)
    s2, r = env_step(s, a)
    buf.push(s, torch.tensor(a), r, s2)
    rewards.append(r.item())
    rewards = rewards[-200:]
    s = torch.rand(4) * 2 - 1 if t % 25 == 0 else s2
    if t > 100 and t % 4 == 0:
        bs, ba, br, bn = buf.sample(32)
        with torch.no_grad():
            y = br + 0.9 * target(bn).max(1).values
        loss = nn.functional.smooth_l1_loss(q(bs).gather(1, ba[:, None]).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if t % 100 == 0:
        target.load_state_dict(q.state_dict())
print(f"buffer capacity {buf.capacity}, mean reward of the last 200 steps {sum(rewards) / len(rewards):.3f}")
