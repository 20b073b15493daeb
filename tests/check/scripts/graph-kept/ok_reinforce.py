"""Log-probabilities of an episode are collected with their graphs, used for one step, and thrown away; several agents with several
optimizers keep their results until all have stepped."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
agents = [nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2)) for _ in range(3)]
optimizers = [torch.optim.Adam(agent.parameters(), lr=0.02) for agent in agents]
for episode in range(6):
    results = []
    for agent, optimizer in zip(agents, optimizers):
        log_probs, rewards = [], []
        for t in range(8):
            observation = torch.randn(4)
            policy = Categorical(logits=agent(observation))
            action = policy.sample()
            log_probs.append(policy.log_prob(action))
            rewards.append(float(action.item() == int(observation[0] > 0)))
        returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
        loss = -(torch.stack(log_probs) * (returns - returns.mean())).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        results.append(loss)
    print(episode, [round(float(r), 3) for r in results])
