import random

import torch
import torch.nn as nn
from torch.distributions import Categorical


class Escape:
    """Guess the exit (the sign pattern of the observation); the episode ends at the first right guess."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.door = self.rng.randrange(3)
        self.t = 0
        return self.obs()

    def obs(self):
        v = [self.rng.gauss(0, 0.5) for _ in range(3)]
        v[self.door] += 2.0
        return torch.tensor(v)

    def step(self, action):
        self.t += 1
        found = action == self.door
        return self.obs(), (1.0 if found else -0.3), found or self.t >= 8


def rewards_to_go(rewards, gamma=0.9):
    out, acc = [], 0.0
    for r in reversed(rewards):
        acc = r + gamma * acc
        out.insert(0, acc)
    return torch.tensor(out)


def normalise(returns, eps=1e-6):
    return (returns - returns.mean()) / (returns.std(unbiased=False) + eps)


def episode(policy, env):
    obs, done, logp, rewards = env.reset(), False, [], []
    while not done:
        dist = Categorical(logits=policy(obs), validate_args=False)
        action = dist.sample()
        logp.append(dist.log_prob(action))
        obs, reward, done = env.step(int(action))
        rewards.append(reward)
    return torch.stack(logp), rewards


def main():
    torch.manual_seed(0)
    env = Escape(random.Random(0))
    policy = nn.Linear(3, 3)
    optimizer = torch.optim.Adam(policy.parameters(), lr=2e-2)
    for it in range(60):
        losses, lengths = [], []
        for _ in range(12):
            logp, rewards = episode(policy, env)
            lengths.append(len(rewards))
            losses.append(-(logp * normalise(rewards_to_go(rewards))).sum())
        optimizer.zero_grad()
        torch.stack(losses).mean().backward()
        optimizer.step()
        if it % 15 == 14:
            size = policy.weight.abs().max().item()
            print(f"iteration {it + 1} mean length {sum(lengths) / len(lengths):.2f} largest weight {size:.3f}")
        if not torch.isfinite(policy.weight).all():
            print("weights no longer finite")
            break


main()
