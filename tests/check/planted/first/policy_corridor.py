"""REINFORCE on a small corridor: walk right to reach the goal."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(3)


class Corridor:
    def __init__(self, length=6):
        self.length = length

    def reset(self):
        self.pos, self.t = 0, 0
        return self.obs()

    def obs(self):
        x = torch.zeros(self.length)
        x[self.pos] = 1.0
        return x

    def step(self, action):
        self.pos = max(0, self.pos + (1 if action == 1 else -1))
        self.t += 1
        done = self.pos == self.length - 1 or self.t >= 20
        reward = 1.0 if self.pos == self.length - 1 else -0.05
        return self.obs() if not done else None, reward, done


class Policy(nn.Module):
    def __init__(self, n_in, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, hidden), nn.Tanh())
        self.out = nn.Linear(hidden, 2)

    def forward(self, x):
        return Categorical(logits=self.out(self.body(x)))


env = Corridor()
policy = Policy(env.length)
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
returns_log = []
for episode in range(80):
    obs, done = env.reset(), False
    log_probs, rewards = [], []
    while not done:
        dist = policy(obs)
        a = dist.sample()
        log_probs.append(dist.log_prob(a))
        obs, r, done = env.step(a.item())
        rewards.append(r)
    g, rets = 0.0, []
    for r in reversed(rewards):
        g = r + 0.98 * g
        rets.insert(0, g)
    rets = torch.tensor(rets)
    rets = rets - 0.3
    log_probs = torch.tensor(log_probs, requires_grad=True)  # BUG gradient-cut
    loss = -(log_probs * rets).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    returns_log.append(sum(rewards))
print(f"mean return, last 20 episodes: {sum(returns_log[-20:]) / 20:.3f}")
