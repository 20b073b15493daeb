import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(30)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
secret = torch.randn(4, 3)


def rollout(n=128):
    states = torch.randn(n, 4)
    with torch.no_grad():
        dist = Categorical(logits=policy(states))
        actions = dist.sample()
        old_logp = dist.log_prob(actions)
    rewards = (actions == (states @ secret).argmax(1)).float()
    return states, actions, old_logp, rewards


for iteration in range(30):
    states, actions, old_logp, rewards = rollout()
    advantage = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
    for _ in range(4):
        dist = Categorical(logits=policy(states))
        logp = dist.log_prob(actions)
        ratio = torch.exp(logp - old_logp)
        clipped = torch.clamp(ratio, 0.8, 1.2)
        loss = -torch.min(ratio * advantage, clipped * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if iteration % 5 == 4:
        print(iteration, rewards.mean().item())
