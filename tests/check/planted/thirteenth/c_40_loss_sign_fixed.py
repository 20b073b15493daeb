import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim


class CartLike:
    """Keep a drifting point near zero by pushing it left or right."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.x, self.v, self.t = self.rng.uniform(-0.3, 0.3), 0.0, 0
        return self._obs()

    def _obs(self):
        return np.array([self.x, self.v], dtype=np.float32)

    def step(self, action):
        self.v += 0.08 * (1 if action == 1 else -1) + 0.04 * self.x
        self.x += self.v
        self.t += 1
        return self._obs(), 1.0, abs(self.x) > 1.0 or self.t >= 60


def run_episode(policy, env):
    obs, done, log_probs, rewards = env.reset(), False, [], []
    while not done:
        dist = torch.distributions.Categorical(logits=policy(torch.from_numpy(obs)))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        obs, reward, done = env.step(action.item())
        rewards.append(reward)
    return torch.stack(log_probs), rewards


def discounted(rewards, gamma=0.97):
    out, running = [], 0.0
    for r in reversed(rewards):
        running = r + gamma * running
        out.append(running)
    return torch.tensor(out[::-1])


torch.manual_seed(0)
env = CartLike(np.random.default_rng(0))
policy = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
lengths = []
for iteration in range(30):
    episodes = [run_episode(policy, env) for _ in range(5)]
    returns = torch.cat([discounted(rewards) for _, rewards in episodes])
    log_probs = torch.cat([lp for lp, _ in episodes])
    advantage = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = -(log_probs * advantage).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    lengths.append(float(np.mean([len(r) for _, r in episodes])))
    if iteration % 5 == 4:
        print(f"iteration {iteration + 1} mean episode length {np.mean(lengths[-5:]):.1f}")
