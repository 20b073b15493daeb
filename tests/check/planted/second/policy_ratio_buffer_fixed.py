"""Actor-critic with a storage of episodes for statistics."""
from dataclasses import dataclass, field
import torch
import torch.nn as nn
from torch.distributions import Categorical


@dataclass
class Storage:
    log_probs: list = field(default_factory=list)
    values: list = field(default_factory=list)

    def add(self, lp, v):
        self.log_probs.append(lp.detach())
        self.values.append(v.detach())


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, 4), nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


torch.manual_seed(0)
net, store = ActorCritic(), Storage()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for episode in range(200):
    s = torch.randn(32, 4)
    dist, v = net(s)
    a = dist.sample()
    r = (a == s.argmax(1)).float()
    lp = dist.log_prob(a)
    adv = r - v
    loss = -(lp * adv.detach()).mean() + 0.5 * adv.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    store.add(lp, v)
print("reward", r.mean().item(), "mean value estimate of the last 10", torch.stack(store.values[-10:]).mean().item())
