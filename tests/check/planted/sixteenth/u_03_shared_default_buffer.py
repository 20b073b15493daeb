import random

import torch
from torch import nn


class BanditAgent:
    def __init__(self, n_arms, seed, memory=[]):  # BUG mutable-default|shared-state|class-attribute-shared
        torch.manual_seed(seed)
        self.q = nn.Linear(n_arms, 1, bias=False)
        self.opt = torch.optim.SGD(self.q.parameters(), lr=0.5)
        self.memory = memory  # BUG mutable-default|shared-state|class-attribute-shared
        self.n_arms = n_arms

    def remember(self, arm, reward):
        self.memory.append((arm, reward))

    def learn(self, batch_size=32):
        batch = random.sample(self.memory, min(batch_size, len(self.memory)))
        arms = torch.tensor([b[0] for b in batch])
        rewards = torch.tensor([b[1] for b in batch]).unsqueeze(1)
        pred = self.q(nn.functional.one_hot(arms, self.n_arms).float())
        loss = nn.functional.mse_loss(pred, rewards)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def pull(probs, arm):
    return float(random.random() < probs[arm])


random.seed(0)
site_a, site_b = [0.9, 0.1, 0.5], [0.1, 0.9, 0.5]
agents = {"a": (BanditAgent(3, 1), site_a), "b": (BanditAgent(3, 2), site_b)}
for t in range(300):
    for agent, probs in agents.values():
        arm = random.randrange(3)
        agent.remember(arm, pull(probs, arm))
        loss = agent.learn()
    if t % 100 == 99:
        print(f"t {t + 1} loss {loss:.4f}")
for key, (agent, probs) in agents.items():
    est = [round(v, 2) for v in agent.q.weight[0].tolist()]
    print(key, "memory", len(agent.memory), "estimates", est, "true", probs)
