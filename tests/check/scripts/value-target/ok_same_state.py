import torch
from torch import nn
from torch.distributions import Categorical


def gae(rewards, values, gamma=0.97, lam=0.9):
    out, running = torch.zeros_like(rewards), 0.0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * values[t + 1] - values[t]
        running = delta + gamma * lam * running
        out[t] = running
    return out


torch.manual_seed(40)
policy = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 2))
critic = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=3e-3)
for it in range(10):
    s = torch.randn(33, 3).cumsum(0) * 0.3
    dist = Categorical(logits=policy(s[:-1]))
    a = dist.sample()
    r = torch.where(a == 1, s[1:, 0], -s[1:, 0])
    v = critic(s).squeeze(1)
    adv = gae(r, v.detach())
    returns = adv + v[:-1].detach()
    loss = -(dist.log_prob(a) * adv).mean() + 0.5 * (returns - v[:-1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, loss.item())
