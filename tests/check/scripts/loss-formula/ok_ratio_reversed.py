import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
CLIP = 0.2
for update in range(8):
    states = torch.randn(128, 4)
    with torch.no_grad():
        dist = Categorical(logits=policy(states))
        actions = dist.sample()
        old_logp = dist.log_prob(actions)
    rewards = (actions == states[:, :3].argmax(1)).float()
    advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-8)
    for epoch in range(4):
        logp = Categorical(logits=policy(states)).log_prob(actions)
        ratio = torch.exp(logp - old_logp)
        clipped = torch.clamp(ratio, 1 - CLIP, 1 + CLIP)
        loss = -torch.min(ratio * advantages, clipped * advantages).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(update, rewards.mean().item())
