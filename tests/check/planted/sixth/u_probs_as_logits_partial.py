from functools import partial
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(5)
ARMS = 5
make_dist = partial(Categorical, None)  # BUG probs-as-logits


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, ARMS))

    def forward(self, s):
        return self.net(s).softmax(-1)  # BUG probs-as-logits


def reward(s, a):
    best = (s[:, 0] > 0).long() + 2 * (s[:, 1] > 0).long()
    return (a == best).float()


policy = Policy()
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
baseline = 0.0
for it in range(400):
    s = torch.randn(64, 4)
    dist = make_dist(policy(s))
    a = dist.sample()
    r = reward(s, a)
    loss = -(dist.log_prob(a) * (r - baseline)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    baseline = 0.9 * baseline + 0.1 * r.mean().item()
    if it % 100 == 99:
        print(f"iter {it + 1} mean reward {baseline:.3f} entropy {dist.entropy().mean().item():.3f}")
