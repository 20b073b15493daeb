"""Policy with batch norm acting in an environment, one observation at a time."""
import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x):
        return Categorical(logits=self.f(x))


def act(policy, obs):
    policy.eval()
    with torch.no_grad():
        a = policy(obs.unsqueeze(0)).sample().item()
    policy.train()
    return a


def collect(policy, n):
    obs, acts, rews = [], [], []
    for _ in range(n):
        o = torch.randn(4) * 2 + 1
        a = act(policy, o)
        obs.append(o)
        acts.append(a)
        rews.append(1.0 if a == int(o[0] > o[1]) else -1.0)
    return torch.stack(obs), torch.tensor(acts), torch.tensor(rews)


torch.manual_seed(0)
policy = Policy()
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for it in range(60):
    obs, a, r = collect(policy, 32)
    loss = -(policy(obs).log_prob(a) * r).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("mean reward", r.mean().item())
